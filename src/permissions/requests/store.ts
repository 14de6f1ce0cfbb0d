import { sql } from 'drizzle-orm';
import { permissionContents, permissions, reviews } from '../../db/schema';
import { placeholdersOf, prepareWrite, type Statement } from '../../db/statements';
import type { AgentContext } from '../../http/context';
import { appendedSequence } from '../../ledger/append';
import { CredentialEnded } from '../../ledger/authority';
import type { Entry } from '../../ledger/entry';
import type { Guard } from '../../ledger/guard';
import type { StateWriter } from '../../ledger/ledger';
import { SECOND } from '../../lib/time';
import { contentsRow, presentSent } from '../contents';
import { digestDetails, draftPermissionEntry } from '../draft-entry';
import { NO_OUTCOME } from '../outcomes/outcome';
import {
  type Permission,
  type PermissionRow,
  presentPermission,
  type ReviewedPermission,
} from '../permission';
import { withRequestMac } from '../reviews/genuine';
import type { Review, ReviewState } from '../reviews/review';
import { reviewRow, shortOfReviewersSql } from '../reviews/start-review';
import { signActiveTokens } from '../tokens/sign-active-tokens';
import { pendingQuotaGuard } from './pending-quota';
import type { DraftRequest } from './permission-request';
import type { Ruling } from './ruling';

/** Guards and changes of the transaction that stores a request. */
export interface StoredWith {
  guards: readonly Guard[];
  changes: (write: StateWriter) => readonly Statement[];
}

/**
 * Stores a new request with its ruling and their entries, in one transaction.
 * @param also what to check and to store in the same transaction
 * @returns the permission as the agent sees it
 * @throws RulingOutdated if the ruling's guard does not hold; the error of a guard;
 *   PendingQuotaFull; ConstraintError of the external id; CredentialEnded; nothing was written
 */
export async function storeRequest(
  context: AgentContext,
  draft: DraftRequest,
  ruling: Ruling,
  also: StoredWith = { guards: [], changes: () => [] },
): Promise<Permission> {
  const { principal, reader, runtime, ledger } = context;
  const { subject, input } = draft;
  const review = ruling.kind === 'waits' ? ruling.review : null;
  const decision = ruling.kind === 'decided' ? ruling : null;
  const row = await draftRow(context, draft, ruling);
  const now = runtime.now();
  const tokens = await signActiveTokens(context, [row], now);
  const permission = {
    ...presentPermission(row, now, principal, tokens.get(row.id)),
    ...presentSent(input),
  };
  const shownReview = review && completeReviewSql(row, review, permission.review);
  const contents = contentsRow(subject, input);
  const request = draftRequestEntry(context, draft, review);
  const committed = await ledger.commit({
    guards: [
      ...also.guards,
      ...(decision?.guard ? [decision.guard] : []),
      ...(row.status === 'pending' ? [pendingQuotaGuard(subject)] : []),
    ],
    changes: (write) => [
      insertPermission(write, row, draft, ruling),
      ...(contents ? [write.insert(permissionContents).values(contents)] : []),
      ...(review ? [write.insert(reviews).values(reviewRow(row, review))] : []),
      ...(decision?.countApproval ? [decision.countApproval(write)] : []),
      ...also.changes(write),
    ],
    reads: shownReview
      ? [reader.select({ review: shownReview.as('review') }).from(sql`(select 1)`)]
      : [],
    entries: [request, ...furtherEntries(ruling)],
    answer: {
      value: permission,
      subject: principal.agent.id,
      ...(shownReview && { computed: { review: shownReview } }),
    },
  });
  // The agent or the account was deleted after the credential was checked.
  if (!committed) throw new CredentialEnded();
  if (!shownReview) return permission;
  const [stored] = committed.at(-1) as [{ review: Review }];
  return { ...permission, ...stored };
}

/** Makes the permission of a new request. */
async function draftRow(
  context: AgentContext,
  { subject, input, act, connectionId }: DraftRequest,
  ruling: Ruling,
): Promise<ReviewedPermission> {
  const now = context.runtime.now();
  return await withRequestMac(context, {
    ...UNDECIDED,
    review: ruling.kind === 'waits' ? ruling.review : null,
    ...subject,
    ...act,
    connectionId,
    agentId: context.principal.agent.id,
    agentIsActive: true,
    scope: input.scope,
    reason: input.reason || null,
    tokenTtl: input.token_ttl,
    maxUses: input.max_uses,
    series: input.series ?? null,
    outcomeState: input.reports_outcome ? 'promised' : null,
    expiresAt: now + input.expires_in * SECOND,
    createdAt: now,
    updatedAt: now,
    ...(ruling.kind === 'decided' && ruling.columns),
  });
}

const UNDECIDED = {
  status: 'pending',
  eraseAt: null,
  grantedScope: null,
  grantedSeries: null,
  decidedBy: null,
  decidedAt: null,
  decisionReason: null,
  policyId: null,
  tokenStatus: null,
  tokenMaxUses: null,
  tokenUses: null,
  tokenIssuedAt: null,
  tokenExpiresAt: null,
  tokenKeyId: null,
  ...NO_OUTCOME,
} as const;

/** The entries that follow the one of the request: of its decision, and of its use. */
function furtherEntries(ruling: Ruling): Entry[] {
  if (ruling.kind === 'waits') return [];
  const { entry, useEntry } = ruling;
  return useEntry ? [entry, useEntry] : [entry];
}

/** Makes the statement that inserts a new permission, whose entries are appended before. */
function insertPermission(
  write: Pick<StateWriter, 'insert'>,
  row: PermissionRow,
  { input }: DraftRequest,
  ruling: Ruling,
) {
  const entriesAfterRequest = furtherEntries(ruling).length;
  const promisesOutcome = input.reports_outcome ? 1 : 0;
  return insertStatement(write, { ...row, entriesAfterRequest, promisesOutcome });
}

const insertStatement = prepareWrite((write: Pick<StateWriter, 'insert'>) => {
  const account = sql`${sql.placeholder('account')}`;
  const requestEntry = appendedSequence(account, sql`${sql.placeholder('entriesAfterRequest')}`);
  return write.insert(permissions).values({
    ...placeholdersOf(permissions),
    lastEntry: appendedSequence(account),
    requestEntry: sql`iif(${sql.placeholder('promisesOutcome')}, ${requestEntry}, null)`,
  });
});

function draftRequestEntry(
  context: AgentContext,
  { subject, input, act }: DraftRequest,
  review: ReviewState | null,
) {
  return draftPermissionEntry(context, subject, 'request', {
    scope: input.scope,
    ...digestDetails(act),
    ...(review && { review: review.rule, review_policy_id: review.policyId }),
  });
}

/**
 * The review of a new permission as the API shows it, with whether it is short of reviewers, as the
 * SQL of JSON.
 */
function completeReviewSql(row: PermissionRow, review: ReviewState, shown: Permission['review']) {
  const isShort = shortOfReviewersSql(row, review);
  const completed = sql<Review>`json_set(${JSON.stringify(shown)}, '$.short_of_reviewers', ${isShort})`;
  return completed.mapWith((text: string): Review => JSON.parse(text));
}
