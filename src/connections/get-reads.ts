import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { agents, connectionReads, connections } from '../db/schema';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { exampleId } from '../http/examples';
import { queryNumber } from '../http/fields';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { countField, idField } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import { DAY, formatTime } from '../lib/time';
import type { Id } from '../lib/typeid';
import { type ConnectionRow, preloadConnection, requireConnection } from './connection';

const MAX_DAYS = 31;

const ReadsQuery = lazy(() =>
  z.strictObject({
    days: queryNumber(1, MAX_DAYS)
      .default(7)
      .meta({ description: 'How many UTC days, today included.' }),
  }),
);

const ConnectionReads = lazy(() =>
  z
    .object({
      data: z.array(
        z.object({
          date: z.string().meta({ format: 'date' }),
          agent_id: idField('agent'),
          count: countField,
        }),
      ),
    })
    .meta({
      id: 'ConnectionReads',
      description: 'Calls that a rule allowed without a permission, by UTC day and agent.',
      examples: [{ data: [{ date: '2026-01-31', agent_id: exampleId('agent'), count: 17 }] }],
    }),
);

export type ConnectionReads = LazyOutput<typeof ConnectionReads>;

/**
 * Counts the calls of a connection that a rule allowed without a permission in the last days,
 * newest first.
 * @param days at most 31
 */
export async function getReads(
  { reader, runtime }: UserContext,
  { account, id }: Pick<ConnectionRow, 'account' | 'id'>,
  days: number,
): Promise<ConnectionReads> {
  const today = Math.floor(runtime.now() / DAY);
  const connection = sql`${sql.param(id, connections.id)}`;
  const isOfConnection = (alias: string) => sql`${sql.raw(alias)}.account = ${account}
    and ${sql.raw(alias)}.connection = ${connection}`;
  // From agent to agent by the key, so that no day before is read.
  const counted = sql`
    with recursive callers (agent) as (
      select min(first.agent) from ${connectionReads} as first where ${isOfConnection('first')}
      union all
      select (
        select min(other.agent) from ${connectionReads} as other
        where ${isOfConnection('other')} and other.agent > callers.agent
      ) from callers where callers.agent is not null
    )
    select caller.id, counted.day, counted.count
    from callers cross join ${connectionReads} as counted cross join ${agents} as caller
    where ${isOfConnection('counted')} and counted.agent = callers.agent
      and counted.day > ${today - days} and caller.number = counted.agent`;
  const [rows] = await reader.load([
    reader
      .select({
        agentId: sql<Id<'agent'>>`read.id`.mapWith(agents.id).as('agent_id'),
        day: sql<number>`read.day`.as('day'),
        count: sql<number>`read.count`.as('count'),
      })
      .from(sql`(${counted}) as read`)
      .orderBy(sql`read.day desc, read.count desc, read.id`),
  ]);
  return {
    data: rows.map(({ agentId, day, count }) => ({
      date: formatTime(day * DAY).slice(0, 10),
      agent_id: agentId,
      count,
    })),
  };
}

export const getReadsRoute = new Hono().get(
  '/v1/connections/:id/reads',
  operation({
    id: 'getConnectionReads',
    tag: 'Connections',
    summary: 'Count the reads of a connection',
    description:
      'Calls that a rule allowed without a permission, by UTC day and agent, newest first. They are in no log.',
    success: ok(ConnectionReads),
    pathId: 'conn',
  }),
  userAccess('connections:read', preloadConnection),
  query(ReadsQuery),
  async (c) => {
    const connection = requireConnection(c.var.loaded.connection);
    return answer(c, await getReads(c.var.context, connection, c.req.valid('query').days));
  },
);
