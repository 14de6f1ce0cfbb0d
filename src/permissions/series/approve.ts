import { sql } from 'drizzle-orm';
import { series } from '../../db/schema';
import type { AgentContext } from '../../http/context';
import type { Entry } from '../../ledger/entry';
import type { Guard } from '../../ledger/guard';
import type { StateWriter } from '../../ledger/ledger';
import { withPrefix } from '../../lib/typeid';
import { type digestDetails, draftPermissionEntry, type EntrySubject } from '../draft-entry';
import type { RequestedLimits } from '../limits';
import type { PermissionRow } from '../permission';
import { newTokenColumns } from '../tokens/new-token-columns';
import { covers, type SeriesCandidate } from './covers';
import { giversOf, isGenuineSeries, isLive, isSeries, type SeriesRow } from './series';

/** The series ended, or has no room left, after it was read. Nothing was written. */
export class SeriesEnded extends Error {}

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

/** Makes the approval of a new request by a series. */
export async function approveBySeries(
  context: AgentContext,
  row: SeriesRow,
  {
    subject,
    requested,
    digests,
  }: {
    subject: EntrySubject;
    requested: RequestedLimits;
    digests: ReturnType<typeof digestDetails>;
  },
) {
  const now = context.runtime.now();
  const { scope } = requested;
  const token = await newTokenColumns(context, {
    scope,
    tokenTtl: Math.min(requested.token_ttl, row.tokenTtl),
    maxUses: 1,
  });
  const entry: Entry = draftPermissionEntry(context, subject, 'approve', {
    scope,
    ...digests,
    decided_by: row.permission,
    decided_via: 'series',
    token_id: withPrefix('token', subject.id),
    series: { permission_id: row.permission, given_by: giversOf(row) },
  });
  const columns: Partial<PermissionRow> & Pick<PermissionRow, 'status'> = {
    status: 'approved',
    decidedBy: row.permission,
    decidedAt: now,
    ...token,
  };
  return {
    entry,
    columns,
    guard: liveSeriesGuard(row, now),
    count: (write: Pick<StateWriter, 'update'>) => countRequest(write, row, now),
  };
}

/** The guard of an approval by a series: it is still live, and has room for one more. */
function liveSeriesGuard(row: SeriesRow, now: number): Guard {
  return {
    name: 'series_is_live',
    holds: sql`exists (select 1 from ${series} where ${isSeries(row)} and ${isLive(now)})`,
    otherwise: new SeriesEnded(),
  };
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
