import { type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { ConstraintError, type Reader } from '../db/database';
import { agents, pendingPermissions, permissionContents, permissions, reviews } from '../db/schema';
import { Problem, unavailable } from '../errors';
import { agentAccess } from '../http/access';
import { type AgentContext, newId, type RequestContext } from '../http/context';
import { EXAMPLE } from '../http/examples';
import { body, noQuery, readJson, readObject } from '../http/input';
import { answer, answerExisting, created, operation } from '../http/operation';
import { appendedSequence } from '../ledger/append';
import { CredentialEnded } from '../ledger/authority';
import type { Entry } from '../ledger/entry';
import type { Guard } from '../ledger/guard';
import { requireNotStopped } from '../ledger/stop';
import { equalJson } from '../lib/json';
import { type LazyOutput, lazy } from '../lib/lazy';
import { SECOND } from '../lib/time';
import { withPrefix } from '../lib/typeid';
import { evaluatePolicies } from '../policies/evaluate';
import { assertLoaded, type PolicyRow, selectActivePolicies } from '../policies/policy';
import {
  actFields,
  contentsRow,
  describeAct,
  EXTERNAL_ID,
  findByExternalId,
  type PermissionWithContents,
  presentContents,
  presentSent,
} from './contents';
import { digestDetails, draftPermissionEntry, type EntrySubject } from './draft-entry';
import { capLimits } from './limits';
import {
  Permission,
  type PermissionRow,
  presentPermission,
  type ReviewedPermission,
} from './permission';
import { permissionFields } from './permission-fields';
import { withRequestMac } from './reviews/genuine';
import type { Review, ReviewState } from './reviews/review';
import { reviewRow, shortOfReviewersSql, startReview } from './reviews/start-review';
import { approveBySeries, findSeries, SeriesEnded } from './series/approve';
import { type SeriesRow, selectLiveSeries } from './series/series';
import { requireSeriesFits, SeriesInput } from './series/terms';
import { newTokenColumns } from './tokens/new-token-columns';
import { signActiveTokens } from './tokens/sign-active-tokens';

export const PermissionRequest = lazy(() => {
  const { scope, reason, expires_in, token_ttl, max_uses, ...target } = permissionFields();
  const { input, input_digest, preview, external_id } = actFields();
  return z
    .strictObject({
      ...target,
      scope: scope.default({}),
      reason: reason.optional(),
      expires_in: expires_in.default(3_600),
      token_ttl: token_ttl.default(900),
      max_uses: max_uses.default(1),
      series: SeriesInput().optional(),
      input: input.optional(),
      input_digest: input_digest.optional(),
      preview: preview.optional(),
      external_id: external_id.optional(),
    })
    .meta({
      id: 'PermissionRequest',
      examples: [
        {
          action: EXAMPLE.action,
          resource: EXAMPLE.resource,
          scope: EXAMPLE.scope,
          reason: 'Reply to ticket 4711',
        },
      ],
    });
});

type RequestInput = LazyOutput<typeof PermissionRequest>;

/** Maximum number of pending requests of an account. */
export const MAX_PENDING_REQUESTS = 10_000;
/**
 * Maximum number of pending requests of one agent, so that no agent uses up the account's quota.
 */
export const MAX_PENDING_REQUESTS_OF_AGENT = 1_000;

/**
 * The rows that are loaded for a request in the round trip of its authentication: see
 * {@link selectForRequest}.
 */
interface Loaded {
  policies: PolicyRow[];
  liveSeries: SeriesRow[];
  /** The permission that the agent requested under the same external id before. */
  existing: PermissionWithContents | undefined;
}

interface RequestPermissionContext extends AgentContext {
  /**
   * Authenticates the agent again, who may have lost access meanwhile, and reads `existing` again.
   */
  findExisting: () => Promise<PermissionWithContents | undefined>;
  again: () => Promise<Loaded>;
}

/**
 * Creates a permission. If an active policy applies, it decides at once, and an approved permission
 * is returned with its token. Otherwise the permission waits until it expires: for reviewers if a
 * review policy applies, else for any person who may decide.
 *
 * If the agent has already sent the same request under the same external id, returns that
 * permission as it is now, and writes nothing. If several such requests come at the same time, one
 * creates the permission and the others return it.
 * @throws Problem `account_stopped`; `conflict` if the agent or the account has the maximum number
 *   of pending requests, or the log is full; `external_id_conflict` if another request of the agent
 *   has the external id
 */
export async function requestPermission(
  context: RequestPermissionContext,
  { policies, existing, liveSeries, ...input }: Loaded & RequestInput,
  races = 0,
): Promise<{ permission: Permission; isNew: boolean }> {
  const { principal, reader, runtime, ledger, findExisting } = context;
  const { account, agent } = principal;
  const now = runtime.now();
  const { action, resource, scope, external_id: externalId } = input;
  requireSeriesFits(input);
  const columns = await describeAct(input);
  requireNotStopped(account);
  const showExisting = (row: PermissionWithContents) =>
    presentExisting(context, row, { action, resource, scope, inputDigest: columns.inputDigest });
  if (existing) return showExisting(existing);
  const subject = {
    account: account.number,
    agent: agent.number,
    id: newId(runtime, 'perm'),
    action,
    resource,
  };
  const { policy } = evaluatePolicies(policies, { agentId: agent.id, action, resource, scope });
  let review: ReviewState | null = null;
  if (policy?.effect === 'review') review = startReview(policy, input, { owner: agent.owner, now });
  const route = policy?.effect === 'review' ? policy : null;
  const run =
    (policy && !review) || races > 3
      ? null
      : await findSeries(context, liveSeries, { ...input, reviewPolicy: route });
  if (run) review = null;
  const bySeries =
    run &&
    (await approveBySeries(context, run, {
      subject,
      requested: input,
      digests: digestDetails(columns),
    }));
  const request = draftPermissionEntry(context, subject, 'request', {
    scope,
    ...digestDetails(columns),
    ...(review && { review: review.rule, review_policy_id: review.policyId }),
  });
  const decision =
    bySeries ??
    (policy && !review
      ? await decideByPolicy(context, { subject, policy, input, digests: digestDetails(columns) })
      : null);
  const row: ReviewedPermission = await withRequestMac(context, {
    ...UNDECIDED,
    review,
    ...subject,
    ...columns,
    agentId: agent.id,
    agentIsActive: true,
    scope,
    reason: input.reason || null,
    tokenTtl: input.token_ttl,
    maxUses: input.max_uses,
    series: input.series ?? null,
    status: 'pending',
    expiresAt: now + input.expires_in * SECOND,
    createdAt: now,
    updatedAt: now,
    ...decision?.columns,
  });
  const tokens = await signActiveTokens(context, [row], now);
  const permission = {
    ...presentPermission(row, now, principal, tokens.get(row.id)),
    ...presentSent(input),
  };
  const quota = pendingQuotaGuard(agent.number, account.number);
  const shownReview = review && completeReviewSql(row, review, permission.review);
  const contents = contentsRow(subject, input);
  const { review: _, ...columnsOfRow } = row;
  let committed: readonly unknown[] | null;
  try {
    committed = await ledger.commit({
      guards: [...(bySeries ? [bySeries.guard] : []), ...(row.status === 'pending' ? [quota] : [])],
      changes: (write) => [
        write
          .insert(permissions)
          .values({ ...columnsOfRow, lastEntry: appendedSequence(account.number) }),
        ...(contents ? [write.insert(permissionContents).values(contents)] : []),
        ...(review ? [write.insert(reviews).values(reviewRow(row, review))] : []),
        ...(bySeries ? [bySeries.count(write)] : []),
      ],
      reads: shownReview
        ? [reader.select({ review: shownReview.as('review') }).from(sql`(select 1)`)]
        : [],
      entries: decision ? [request, decision.entry] : [request],
      answer: {
        value: permission,
        subject: agent.id,
        ...(shownReview && { computed: { review: shownReview } }),
      },
    });
  } catch (error) {
    if (error instanceof SeriesEnded)
      return requestPermission(context, { ...(await context.again()), ...input }, races + 1);
    const isTaken = error instanceof ConstraintError && error.subject === 'permissions.external_id';
    const mayBeTaken = error === quota.otherwise || error instanceof CredentialEnded;
    if (externalId === undefined || !(isTaken || mayBeTaken)) throw error;
    // A concurrent request with this external id came first. It may have taken the last place, or
    // its account may have moved to another shard.
    const first = await findExisting();
    requireNotStopped(account);
    if (first) return showExisting(first);
    if (isTaken) throw unavailable();
    throw error;
  }
  // The agent or the account was deleted after the credential was checked.
  if (!committed) throw new CredentialEnded();
  if (!shownReview) return { permission, isNew: true };
  const [stored] = committed.at(-1) as [{ review: Review }];
  return { permission: { ...permission, ...stored }, isNew: true };
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

/**
 * Shows a permission that was requested before under the external id of this request, with its
 * active token.
 * @throws Problem `external_id_conflict` if this request differs
 */
async function presentExisting(
  context: AgentContext,
  existing: PermissionWithContents,
  {
    action,
    resource,
    scope,
    inputDigest,
  }: Pick<PermissionRow, 'action' | 'resource' | 'scope' | 'inputDigest'>,
) {
  const isSame =
    existing.action === action &&
    existing.resource === resource &&
    existing.inputDigest === inputDigest &&
    equalJson(existing.scope, scope);
  if (!isSame) {
    throw new Problem(
      'external_id_conflict',
      'The agent has another request with this `external_id`: its action, resource, scope or input differs.',
    );
  }
  const now = context.runtime.now();
  const tokens = await signActiveTokens(context, [existing], now);
  const permission = {
    ...presentPermission(existing, now, context.principal, tokens.get(existing.id)),
    ...presentContents(existing),
  };
  return { permission, isNew: false };
}

/** The guard of a request that waits: neither its agent nor the account has too many. */
function pendingQuotaGuard(agent: number, account: number): Guard {
  const ofAccount = sql`coalesce((
    select count from ${pendingPermissions} where account = ${account}
  ), 0)`;
  // Reads no more rows than the quota has places.
  const isFullForAgent = sql`exists (
    select 1 from permissions indexed by permissions_pending_by_agent
    where agent = ${agent} and status = 0 limit 1 offset ${MAX_PENDING_REQUESTS_OF_AGENT - 1}
  )`;
  return {
    name: 'pending_requests_below_quota',
    holds: sql`${ofAccount} < ${MAX_PENDING_REQUESTS} and not ${isFullForAgent}`,
    otherwise: new Problem(
      'conflict',
      `The agent has ${MAX_PENDING_REQUESTS_OF_AGENT} pending requests, or the account ${MAX_PENDING_REQUESTS}: the maximum. Decide some, or ` +
        'wait until they expire.',
    ),
  };
}

const UNDECIDED = {
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
} as const;

/**
 * Makes the audit entry of a policy's decision on a request, and the columns that the decision
 * sets.
 */
async function decideByPolicy(
  context: AgentContext,
  {
    subject,
    policy,
    input,
    digests,
  }: {
    subject: EntrySubject;
    policy: PolicyRow;
    input: RequestInput;
    digests: ReturnType<typeof digestDetails>;
  },
): Promise<{ entry: Entry; columns: Partial<PermissionRow> & Pick<PermissionRow, 'status'> }> {
  const { scope } = input;
  const decision = {
    decided_by: policy.id,
    decided_via: 'policy' as const,
    decision_reason: policy.reason,
    policy_id: policy.id,
    ...digests,
  };
  const decided = {
    decidedBy: policy.id,
    decidedAt: context.runtime.now(),
    decisionReason: policy.reason,
    policyId: policy.id,
  };
  if (policy.effect === 'deny') {
    const entry = draftPermissionEntry(context, subject, 'deny', { scope, ...decision });
    return { entry, columns: { status: 'denied', ...decided } };
  }
  const token = await newTokenColumns(context, capLimits(input, policy));
  const token_id = withPrefix('token', subject.id);
  const entry = draftPermissionEntry(context, subject, 'approve', { scope, ...decision, token_id });
  return { entry, columns: { status: 'approved', ...decided, ...token } };
}

/**
 * Preloads the active policies, and the agent's permission that already has the external id of the
 * request.
 */
async function preloadRequest(
  c: RequestContext,
  reader: Reader,
  account: SQL<number>,
  agentId: SQL,
) {
  const { external_id: externalId, action, resource } = (await readObject(c, readJson)) ?? {};
  return selectForRequest(
    reader,
    { account, agentId, externalId, action, resource },
    c.var.runtime.now(),
  );
}

/**
 * Makes the queries that a request needs: the active policies, and the agent's permission that
 * already has the external id of the request.
 */
export function selectForRequest(
  reader: Reader,
  {
    account,
    agentId,
    externalId,
    action,
    resource,
  }: {
    account: SQL<number>;
    agentId: SQL;
    externalId: unknown;
    action: unknown;
    resource: unknown;
  },
  now: number,
) {
  const policies = selectActivePolicies(reader, account);
  const agent = sql<number>`(select number from ${agents} where account = ${account} and id = ${agentId})`;
  const liveSeries =
    typeof action === 'string' && typeof resource === 'string'
      ? selectLiveSeries(reader, { account, agent }, { action, resource }, now)
      : null;
  if (typeof externalId !== 'string' || !EXTERNAL_ID.test(externalId))
    return { policies, liveSeries, existing: null };
  return {
    policies,
    liveSeries,
    existing: findByExternalId(reader, { account, agent, externalId }, now),
  };
}

export const requestPermissionRoute = new Hono().post(
  '/v1/permissions',
  operation({
    id: 'requestPermission',
    tag: 'Permissions',
    summary: 'Request a permission',
    description:
      'A policy may decide it at once; otherwise it waits for people. The same request with the same `external_id` is ' +
      'answered 200 with the existing permission.',
    success: { ...created(Permission), mayExist: true },
    problems: ['conflict', 'external_id_conflict'],
  }),
  agentAccess(preloadRequest, { heedsStop: true }),
  noQuery(),
  body(PermissionRequest),
  async (c) => {
    const { loaded, reload } = c.var;
    const read = (rows: typeof loaded) => ({
      policies: assertLoaded(rows.policies),
      existing: rows.existing?.[0],
      liveSeries: rows.liveSeries ?? [],
    });
    const context = {
      ...c.var.context,
      again: async () => read(await reload()),
      findExisting: async () => (await reload()).existing?.[0],
    };
    const input = {
      ...read(loaded),
      ...c.req.valid('json'),
    };
    const { permission, isNew } = await requestPermission(context, input);
    if (!isNew) return answerExisting(c, permission);
    return answer(c, permission);
  },
);
