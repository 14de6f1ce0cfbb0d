import { type SQL, sql } from 'drizzle-orm';
import { series } from '../../db/schema';
import type { AgentContext } from '../../http/context';
import type { Guard } from '../../ledger/guard';
import type { StateWriter } from '../../ledger/ledger';
import { withPrefix } from '../../lib/typeid';
import type { PolicyRow } from '../../policies/policy';
import { digestDetails, draftPermissionEntry } from '../draft-entry';
import { covers, type SeriesCandidate } from '../series/covers';
import { giversOf, isGenuineSeries, isLive, isSeries, type SeriesRow } from '../series/series';
import { newTokenColumns } from '../tokens/new-token-columns';
import type { DraftRequest } from './permission-request';
import { type InstantDecision, RulingOutdated } from './ruling';

/**
 * Returns the series among the live ones of an agent to which a request belongs, and which people
 * are proven to have given: of several, the one that expires first; null if there is none.
 */
export async function findSeries(
  context: AgentContext,
  live: readonly SeriesRow[],
  request: SeriesCandidate,
): Promise<SeriesRow | null> {
  const covering = live
    .filter((row) => covers(row, request))
    .sort((a, b) => a.expiresAt - b.expiresAt);
  for (const row of covering) {
    if (await isGenuineSeries(context, row, context.principal.agent.id)) return row;
  }
  return null;
}

/**
 * Approves a request that belongs to a live series, in place of the people who gave it. It counts
 * in the transaction that stores it.
 * @param policies the account's active policies, of which none decides it
 */
export async function approveBySeries(
  context: AgentContext,
  { subject, input, act }: DraftRequest,
  row: SeriesRow,
  policies: readonly PolicyRow[],
): Promise<InstantDecision> {
  const now = context.runtime.now();
  const { scope, token_ttl } = input;
  const tokenTtl = Math.min(token_ttl, row.tokenTtl);
  const token = await newTokenColumns(context, { scope, tokenTtl, maxUses: 1 });
  const entry = draftPermissionEntry(context, subject, 'approve', {
    scope,
    ...digestDetails(act),
    decided_by: row.permission,
    decided_via: 'series',
    token_id: withPrefix('token', subject.id),
    series: { permission_id: row.permission, given_by: giversOf(row) },
  });
  return {
    kind: 'decided',
    columns: { status: 'approved', decidedBy: row.permission, decidedAt: now, ...token },
    entry,
    guard: liveSeriesGuard(row, arePoliciesUnchanged(subject.account, policies), now),
    countApproval: (write) => countRequest(write, row, now),
  };
}

/** The guard of an approval by a series: it is still live, and no policy has come in between. */
function liveSeriesGuard(row: SeriesRow, arePoliciesAsRead: SQL, now: number): Guard {
  return {
    name: 'series_is_live',
    holds: sql`exists (
      select 1 from ${series} where ${isSeries(row)} and ${isLive(now)}
    ) and ${arePoliciesAsRead}`,
    otherwise: () => new RulingOutdated(),
  };
}

/** Whether the active policies of an account are those that were read, as SQL. */
function arePoliciesUnchanged(account: number, policies: readonly PolicyRow[]): SQL {
  const changes = policies.reduce((sum, { updatedAt }) => sum + updatedAt, 0);
  return sql`(
    select count(*) = ${policies.length} and total(policies.updated_at) = ${changes}
    from policies where policies.account = ${account} and policies.is_active
  )`;
}

/** Makes the statement that counts one more request, and ends a series that then has no room. */
function countRequest(write: Pick<StateWriter, 'update'>, row: SeriesRow, now: number) {
  const isLast = sql`${series.used} + 1 >= ${series.requests}`;
  return write
    .update(series)
    .set({
      used: sql`${series.used} + 1`,
      liveUntil: sql`iif(${isLast}, 0, ${series.liveUntil})`,
      endedAt: sql`iif(${isLast}, ${now}, ${series.endedAt})`,
    })
    .where(isSeries(row));
}
