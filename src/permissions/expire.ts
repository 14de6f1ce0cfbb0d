import { and, eq, type SQL, sql } from 'drizzle-orm';
import { isAtHome } from '../db/at-home';
import { aliased } from '../db/columns';
import type { Reader } from '../db/database';
import { isAgentOfPermission, isReviewOfPermission } from '../db/permission-joins';
import { accounts, agents, permissions, reviews } from '../db/schema';
import type { Runtime } from '../env';
import { withFixedClock } from '../http/context';
import { appendedSequence, entriesAfter } from '../ledger/append';
import { type Entry, SERVICE_ORIGIN } from '../ledger/entry';
import type { Ledger } from '../ledger/ledger';
import { toHex } from '../lib/bytes';
import type { JsonObject } from '../lib/json';
import { logFailure } from '../lib/log';
import { idBytes, withPrefix } from '../lib/typeid';
import { draftPermissionEntry } from './draft-entry';
import { hasVotes } from './reviews/guards';
import { reviewDetails } from './reviews/review';
import { readVotes, votesSql } from './reviews/review-column';

/** Maximum number of requests, and of tokens, that one call of {@link expireOverdue} expires. */
const SLICE = 100;

/**
 * Maximum characters of the details in one transaction, which binds them as one JSON text: D1 takes
 * 2 MB, and a character may have three bytes.
 */
const BATCH_CHARACTERS = 500_000;

interface ExpiryContext {
  reader: Reader;
  ledger: Ledger;
  runtime: Runtime;
}

/**
 * Expires some of the overdue requests that nobody decided, and of the overdue tokens that nobody
 * used: the longest overdue first. Each gets one `expire` entry. (A token that was used needs no
 * entry: it is expired by its time alone.)
 *
 * Skips unreadable rows, and deletes permissions whose agent or account has been deleted.
 * @returns whether there may be more
 */
export async function expireOverdue(context: ExpiryContext): Promise<boolean> {
  const { reader, ledger } = context;
  const runtime = withFixedClock(context.runtime);
  const now = runtime.now();
  const [requests, tokens] = await reader.load([
    findDue(
      reader,
      'permissions_due',
      sql`${isRequestDue(now)} and ${isAtHome} order by expires_at`,
    ),
    findDue(
      reader,
      'tokens_due',
      sql`${isTokenDue(now)} and ${isAtHome} order by token_expires_at`,
    ),
  ]);
  const rows = [...requests, ...tokens];
  const orphans = rows.filter(({ hasOwner }) => !hasOwner);
  if (orphans.length > 0) await ledger.discardOrphans(orphans);
  const entries = rows
    .filter(({ hasOwner }) => hasOwner)
    .flatMap((row) => draftExpiry(runtime, row) ?? []);
  for (const batch of inBatches(entries)) {
    if (await expire(ledger, batch, now)) continue;
    // One of them was decided, used, revoked, expired or deleted meanwhile: expire the others one
    // by one.
    for (const entry of batch) await expire(ledger, [entry], now);
  }
  return requests.length === SLICE || tokens.length === SLICE;
}

/** Divides entries into batches that a transaction takes, unless a single entry is larger. */
function inBatches(entries: readonly Entry[]): Entry[][] {
  const batches: Entry[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const { length } = JSON.stringify(JSON.stringify(entry.details));
    if (size + length > BATCH_CHARACTERS) {
      batches.push([]);
      size = 0;
    }
    batches.at(-1)?.push(entry);
    size += length;
  }
  return batches;
}

/**
 * Expires the requests and tokens of the entries: all of them, or none, and returns false, if one
 * is no longer due.
 */
async function expire(ledger: Ledger, entries: Entry[], now: number): Promise<boolean> {
  const [first, ...rest] = entries;
  if (!first) return true;
  const requests = entries.filter(({ details }) => details.expired !== 'token');
  const tokens = entries.filter(({ details }) => details.expired === 'token');
  const mark = {
    lastEntry: appendedSequence(sql`permissions.account`, sql`expiry.value ->> 2`),
    updatedAt: now,
  };
  const committed = await ledger.commit({
    changes: (write) => [
      write
        .update(permissions)
        .set({ status: 'expired', ...mark })
        .from(expiryRows(requests, entries))
        .where(and(isOfExpiry, isRequestDue(now), hasVotesOfExpiry)),
      write
        .update(permissions)
        .set({ tokenStatus: 'expired', ...mark })
        .from(expiryRows(tokens, entries))
        .where(and(isOfExpiry, isTokenDue(now))),
    ],
    entries: [first, ...rest],
    answer: null,
  });
  return committed !== null;
}

// Each condition names a partial index's own condition literally, or SQLite would not use the
// index.
const isRequestDue = (now: number) => sql`status = 0 and expires_at <= ${now}`;
const isTokenDue = (now: number) =>
  sql`token_status = 0 and token_uses = 0 and token_expires_at <= ${now}`;

/**
 * The part of the row that expired. A request that expired when it was made was withdrawn, with its
 * connection: no other request lives less than a minute.
 */
const whatExpired = sql<'request' | 'token' | 'withdrawn'>`case
  when ${permissions.tokenStatus} is not null then 'token'
  when ${permissions.expiresAt} = ${permissions.createdAt} then 'withdrawn'
  else 'request' end`;

/** Selects the first requests or tokens that a condition and order find in a partial index. */
function findDue(reader: Reader, index: 'permissions_due' | 'tokens_due', due: SQL) {
  return reader
    .select({
      account: permissions.account,
      agent: permissions.agent,
      id: permissions.id,
      action: permissions.action,
      resource: permissions.resource,
      // Read as text, so that a damaged row does not stop the others.
      scope: sql<string>`coalesce(${permissions.grantedScope}, ${permissions.scope})`.as(
        'scope_text',
      ),
      policyId: permissions.policyId,
      inputDigest: permissions.inputDigest,
      previewDigest: permissions.previewDigest,
      reviewPolicyId: aliased(reviews.policyId, 'review_policy_id'),
      votes: sql<string>`iif(${reviews.policyId} is null, '[]', ${votesSql(sql`0`)})`.as('votes'),
      expired: whatExpired.as('expired'),
      hasOwner: sql<number>`${agents.number} is not null and ${accounts.number} is not null`.as(
        'has_owner',
      ),
    })
    .from(
      sql`(select account, id from permissions indexed by ${sql.raw(index)} where ${due} limit ${SLICE}) as due`,
    )
    .crossJoin(permissions)
    .leftJoin(agents, isAgentOfPermission)
    .leftJoin(accounts, eq(accounts.number, permissions.account))
    .leftJoin(reviews, isReviewOfPermission)
    .where(sql`${permissions.account} = due.account and ${permissions.id} = due.id`);
}

type DueRow = Awaited<ReturnType<typeof findDue>>[number];

/** Makes the entry of an expiry; null, after logging it, for a row whose scope cannot be read. */
function draftExpiry(runtime: Runtime, row: DueRow): Entry | null {
  try {
    const { reviewPolicyId: policyId } = row;
    const review = policyId && { policyId, votes: readVotes(JSON.parse(row.votes)) };
    const scope: JsonObject = JSON.parse(row.scope);
    return draftPermissionEntry({ runtime, origin: SERVICE_ORIGIN }, row, 'expire', {
      scope,
      policy_id: row.policyId,
      ...(row.expired === 'token' && { token_id: withPrefix('token', row.id) }),
      expired: row.expired,
      // The entry of an expired token repeats no votes: they are in the entry of the approval.
      ...(row.expired !== 'token' && reviewDetails({ ...row, scope, review })),
    });
  } catch (error) {
    logFailure('permission_unreadable', error, { permission: row.id });
    return null;
  }
}

/** The expiries among all entries of a transition, as a subquery over a JSON array. */
function expiryRows(expiries: Entry[], all: Entry[]) {
  const rows = expiries.map((entry) => [
    entry.account,
    toHex(idBytes(entry.permission)),
    entriesAfter(all, entry),
    entry.details.votes?.length ?? 0,
  ]);
  return sql`json_each(${JSON.stringify(rows)}) as expiry`;
}

const isOfExpiry = sql`${permissions.account} = expiry.value ->> 0 and ${permissions.id} = unhex(expiry.value ->> 1)`;

/** Whether no vote came after those in the entry. */
const hasVotesOfExpiry = hasVotes(sql`expiry.value ->> 3`);
