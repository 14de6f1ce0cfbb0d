import { type SQL, sql } from 'drizzle-orm';
import { aliased } from '../../db/columns';
import { agents, series } from '../../db/schema';
import type { UserContext } from '../../http/context';
import { formatTime } from '../../lib/time';
import { type Id, idBytes } from '../../lib/typeid';
import { isLive, type SeriesRow } from './series';

/** A live series as people see it in a list. */
export interface LiveSeries
  extends Pick<SeriesRow, 'permission' | 'action' | 'resource' | 'scope' | 'varies' | 'requests'> {
  agentId: Id<'agent'>;
  /** Its id for callers who may not read agents. */
  agentName: string;
  used: number;
  expiresAt: string;
}

/** Maximum number of series that are listed: an agent has no more live ones. */
const LIMIT = 20;

/** Maximum number of agents whose series a list of the account looks at, the newest first. */
const MAX_AGENTS = 1_000;

/**
 * Lists the live series of an agent, or the first ones of the account.
 * @returns at most 20, and whether there are more
 */
export async function listLiveSeries(
  { principal, reader, runtime }: UserContext,
  { agent }: { agent?: Id<'agent'> } = {},
): Promise<{ data: LiveSeries[]; has_more: boolean }> {
  const { account, scopes } = principal;
  const now = runtime.now();
  const numbers = agent ? numberOf(account.number, agent) : agentsWithSeries(account.number);
  const [rows] = await reader.load([
    reader
      .select({
        permission: series.permission,
        action: series.action,
        resource: series.resource,
        scope: series.scope,
        varies: series.varies,
        requests: series.requests,
        used: series.used,
        expiresAt: series.expiresAt,
        agentId: aliased(agents.id, 'agent_id'),
        agentName: aliased(agents.name, 'agent_name'),
      })
      .from(sql`(${numbers}) as given`)
      // A cross join keeps this order: SQLite reads only the live series of each agent.
      .crossJoin(series)
      .crossJoin(agents)
      .where(sql`
        series.account = ${account.number} and series.agent = given.agent
        and series.live_until > ${now} and ${isLive(now)} and agents.number = series.agent`)
      .limit(LIMIT + 1),
  ]);
  const showsNames = scopes.includes('agents:read');
  const data = rows.slice(0, LIMIT).map(({ agentName, expiresAt, ...row }) => ({
    ...row,
    agentName: showsNames ? agentName : row.agentId,
    expiresAt: formatTime(expiresAt),
  }));
  return { data, has_more: rows.length > LIMIT };
}

function numberOf(account: number, agent: Id<'agent'>): SQL {
  return sql`select number as agent from agents where account = ${account} and id = ${idBytes(agent)}`;
}

/** Selects the agents with series, live or not. It reads one row for each of them. */
function agentsWithSeries(account: number): SQL {
  return sql`
    with recursive owners(agent) as (
      select max(series.agent) from series where series.account = ${account}
      union all
      select (
        select max(series.agent) from series
        where series.account = ${account} and series.agent < owners.agent
      )
      from owners where owners.agent is not null limit ${MAX_AGENTS}
    )
    select agent from owners`;
}
