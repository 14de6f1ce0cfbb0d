import { and, eq, getTableColumns, type Placeholder, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { prepareByAccount } from '../../db/prepare-by-account';
import { MEMBER_STATUSES, series } from '../../db/schema';
import type { Context } from '../../http/context';
import { hasRowMac, type RowContent, rowMac } from '../../lib/row-mac';
import { SECOND } from '../../lib/time';
import { formatId, type Id, idBytes } from '../../lib/typeid';

export type SeriesRow = typeof series.$inferSelect;

/** The acts that a series approves, and who gave it: the columns that its MAC covers. */
export interface SeriesGrant
  extends Pick<
    SeriesRow,
    | 'permission'
    | 'action'
    | 'resource'
    | 'scope'
    | 'varies'
    | 'tokenTtl'
    | 'requests'
    | 'expiresAt'
    | 'connectionId'
    | 'policyId'
    | 'policyUpdatedAt'
  > {
  agentId: Id<'agent'>;
  givers: Id<'member'>[];
}

function seriesContent(account: Id<'user'>, grant: SeriesGrant): RowContent {
  return {
    table: 'series',
    label: 'series-mac',
    fields: {
      account,
      id: grant.permission,
      agent: grant.agentId,
      action: grant.action,
      resource: grant.resource,
      scope: grant.scope,
      varies: grant.varies,
      token_ttl: grant.tokenTtl,
      requests: grant.requests,
      expires_at: grant.expiresAt,
      connection: grant.connectionId,
      policy: grant.policyId,
      policy_updated_at: grant.policyUpdatedAt,
      given_by: grant.givers,
    },
  };
}

/** Makes the MAC of a series that people give now. */
export function seriesMac({ config, principal }: Context, grant: SeriesGrant): Promise<Uint8Array> {
  return rowMac(config.keyring, seriesContent(principal.account.id, grant));
}

/**
 * Whether people gave a stored series. Otherwise somebody wrote it into the database: it approves
 * nothing. See the threat model in `reviews/genuine.ts`.
 */
export function isGenuineSeries(
  { config, principal }: Context,
  row: SeriesRow,
  agentId: Id<'agent'>,
): Promise<boolean> {
  const grant = { ...row, agentId, givers: giversOf(row) };
  return hasRowMac(config.keyring, seriesContent(principal.account.id, grant), row.mac);
}

/** The members whose votes gave a series. */
export function giversOf({ givenBy }: Pick<SeriesRow, 'givenBy'>): Id<'member'>[] {
  return givenBy.map(([member]) => formatId('member', Uint8Array.fromHex(member)));
}

/**
 * Whether all who gave a series, a row of `series`, are active in the role that they had then,
 * without a break since. Once that has failed it never holds again, since `active_since` rises with
 * each change of role or status.
 */
export const hasItsGivers = sql`not exists (
  select 1 from json_each(series.given_by) as giver where not exists (
    select 1 from members
    where members.account = series.account and members.id = unhex(giver.value ->> 0)
      and members.status = ${codeOf(MEMBER_STATUSES, 'active')}
      and members.active_since = giver.value ->> 1
  )
)`;

/** Whether a series, a row of `series`, may approve a request at a time. */
export function isLive(now: number | Placeholder): SQL {
  return sql`(
    series.live_until > ${now} and series.ended_at is null and series.used < series.requests
    and ${hasItsGivers}
  )`;
}

/** The condition that finds the row of a series in its state of life. */
export function isSeries({
  account,
  agent,
  liveUntil,
  permission,
}: Pick<SeriesRow, 'account' | 'agent' | 'liveUntil' | 'permission'>): SQL | undefined {
  return and(
    eq(series.account, account),
    eq(series.agent, agent),
    eq(series.liveUntil, liveUntil),
    eq(series.permission, permission),
  );
}

/** The condition that finds the live series that the approval of a permission gave. */
export function isLiveSeriesOf(account: number, permission: Id<'perm'>, now: number): SQL {
  const first = (column: SQL) => sql`(
    select ${column} from permissions as first join agents on agents.number = first.agent
    where first.account = ${account} and first.id = ${idBytes(permission)}
  )`;
  const expiresAt = sql`first.decided_at + ${sql.raw(String(SECOND))} * (first.granted_series ->> 'expires_in')`;
  return sql`(
    series.account = ${account} and series.agent = ${first(sql`first.agent`)}
    and series.live_until = ${first(expiresAt)} and series.permission = ${idBytes(permission)}
    and ${isLive(now)}
  )`;
}

/** Selects the live series of an agent for an action on a resource; null unless both are texts. */
export function selectLiveSeries(
  {
    account,
    agentId,
    action,
    resource,
  }: { account: SQL<number>; agentId: SQL; action: unknown; resource: unknown },
  now: number,
) {
  if (typeof action !== 'string' || typeof resource !== 'string') return null;
  return selectLive(account, { action, resource, now }, agentId);
}

/** Selects all live series of an agent. */
export function selectAllLiveSeries(
  { account, agentId }: { account: SQL<number>; agentId: SQL },
  now: number,
) {
  return selectAllLive(account, { now }, agentId);
}

const selectLive = prepareByAccount((select, account, agentId) =>
  select(getTableColumns(series))
    // A cross join keeps this order, in which the agent is looked up once.
    .from(askingAgent(account, agentId))
    .crossJoin(series)
    .where(
      and(
        isLiveSeriesOfAsking,
        eq(series.action, sql.placeholder('action')),
        eq(series.resource, sql.placeholder('resource')),
      ),
    ),
);

const selectAllLive = prepareByAccount((select, account, agentId) =>
  select(getTableColumns(series))
    .from(askingAgent(account, agentId))
    .crossJoin(series)
    .where(isLiveSeriesOfAsking),
);

function askingAgent(account: SQL<number>, agentId: SQL): SQL {
  return sql`(
    select agents.account, agents.number from agents
    where agents.account = ${account} and agents.id = ${agentId}
  ) as asking`;
}

const isLiveSeriesOfAsking = and(
  sql`${series.account} = asking.account and ${series.agent} = asking.number`,
  isLive(sql.placeholder('now')),
);
