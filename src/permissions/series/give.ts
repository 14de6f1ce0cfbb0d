import { sql } from 'drizzle-orm';
import { type SeriesTerms, series } from '../../db/schema';
import { invalidRequest, Problem } from '../../errors';
import type { AccountRef, Context } from '../../http/context';
import type { Guard } from '../../ledger/guard';
import type { StateWriter } from '../../ledger/ledger';
import { toHex } from '../../lib/bytes';
import { retentionDays } from '../../lib/plans';
import { DAY, SECOND } from '../../lib/time';
import { type Id, idBytes } from '../../lib/typeid';
import type { ReviewedPermission } from '../permission';
import type { TokenLimits } from '../reviews/review';
import { isLive, type SeriesRow, seriesMac } from './series';

/** Maximum number of live series of an agent. */
const MAX_LIVE_SERIES = 20;

/** A member whose vote gives a series, and when the member voted. */
export interface Giver {
  by: Id<'member'>;
  at: number;
}

/** A series that an approval gives, to be written with the approval. */
export interface GivenSeries {
  guard: Guard;
  insert: (write: Pick<StateWriter, 'insert'>) => ReturnType<typeof insertSeries>;
}

/**
 * Refuses a series that outlives the account's audit log: its approvals could then name people
 * whose decision is erased.
 * @throws Problem `invalid_request`
 */
export function requireKeptSeries(account: AccountRef, given: SeriesTerms | undefined): void {
  const longest = (retentionDays(account) * DAY) / SECOND;
  if (!given || given.expires_in <= longest) return;
  throw invalidRequest([
    {
      path: 'body.series.expires_in',
      message: `must be at most ${longest}, the seconds for which the account keeps its audit log`,
    },
  ]);
}

/**
 * Makes the series that the approval of a permission gives.
 * @param limits what the approval grants
 * @param givers those whose approvals give it
 */
export async function giveSeries(
  context: Context,
  row: ReviewedPermission,
  terms: SeriesTerms,
  { limits, givers }: { limits: TokenLimits; givers: readonly Giver[] },
): Promise<GivenSeries> {
  const now = context.runtime.now();
  const expiresAt = now + terms.expires_in * SECOND;
  const grant = {
    permission: row.id,
    action: row.action,
    resource: row.resource,
    scope: limits.scope,
    varies: terms.varies,
    tokenTtl: limits.tokenTtl,
    requests: terms.requests,
    expiresAt,
    connectionId: row.connectionId,
    policyId: row.review?.policyId ?? null,
    policyUpdatedAt: row.review?.policyUpdatedAt ?? null,
  };
  const members = givers.map(({ by }) => by);
  const mac = await seriesMac(context, { ...grant, agentId: row.agentId, givers: members });
  const columns = { ...grant, account: row.account, agent: row.agent, liveUntil: expiresAt, mac };
  return {
    guard: liveSeriesGuard(row, now),
    insert: (write) => insertSeries(write, columns, givers),
  };
}

function insertSeries(
  write: Pick<StateWriter, 'insert'>,
  columns: Omit<SeriesRow, 'used' | 'endedAt' | 'givenBy'>,
  givers: readonly Giver[],
) {
  const votes = JSON.stringify(givers.map(({ by, at }) => [toHex(idBytes(by)), at]));
  // Who lost the role after the vote, and has it again, is a giver whom the series never counts.
  const givenBy = sql<[string, number][]>`(
    select json_group_array(json_array(
      vote.value ->> 0, iif(members.active_since <= vote.value ->> 1, members.active_since, null)
    ))
    from json_each(${votes}) as vote cross join members
    where members.account = ${columns.account} and members.id = unhex(vote.value ->> 0)
  )`;
  return write.insert(series).values({ ...columns, used: 1, endedAt: null, givenBy });
}

/** The guard of a new series: the agent has fewer live ones than the maximum. */
function liveSeriesGuard({ account, agent }: ReviewedPermission, now: number): Guard {
  return {
    name: 'live_series_below_quota',
    holds: sql`(
      select count(*) from series
      where series.account = ${account} and series.agent = ${agent}
        and series.live_until > ${now} and ${isLive(now)}
    ) < ${MAX_LIVE_SERIES}`,
    otherwise: () =>
      new Problem(
        'conflict',
        `The agent has ${MAX_LIVE_SERIES} live series, the maximum. End one, or approve only this request.`,
      ),
  };
}
