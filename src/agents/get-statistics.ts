import { type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { codeOf } from '../db/columns';
import { agents, PERMISSION_STATUSES, permissions, STATISTICS_UNITS, trees } from '../db/schema';
import { STORED_EVENTS } from '../db/stored-events';
import { notFound } from '../errors';
import { userAccess } from '../http/access';
import type { UserContext } from '../http/context';
import { query } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { pathId } from '../http/path-id';
import { countField } from '../http/response-fields';
import { LOG_SPAN_SQL } from '../ledger/append';
import { type LazyOutput, lazy } from '../lib/lazy';
import { DAY, HOUR } from '../lib/time';
import type { Id } from '../lib/typeid';
import { agentNumberSql, isAgentWithId } from './agent';
import { countEntries, countedColumns, counterColumns, zeroCounters } from './statistics/counters';

const MAX_DAYS = 365;
const MAX_HOURS = 720;

/**
 * How many log positions after the last counted one are read live. If more are uncounted, the
 * statistics lag. Sweeps count every minute, except while an account moves to another shard.
 */
const MAX_TAIL = 10_000;

export const AgentStatisticsQuery = lazy(() =>
  z.strictObject({
    period: z
      .string()
      .regex(
        /^[1-9]\d{0,2}[dh]$/,
        'must be days such as 30d (1d to 365d) or hours such as 24h (1h to 720h)',
      )
      .refine(
        (period) => Number.parseInt(period, 10) <= (period.endsWith('d') ? MAX_DAYS : MAX_HOURS),
        `must be at most ${MAX_DAYS}d or ${MAX_HOURS}h`,
      )
      .default('30d')
      .meta({
        description:
          `\`1d\` to \`${MAX_DAYS}d\`: so many days in UTC, today included. ` +
          `\`1h\` to \`${MAX_HOURS}h\`: so many full hours, and the current hour.`,
      }),
  }),
);

export const AgentStatistics = lazy(() =>
  z
    .object({
      period: z.string().meta({ description: 'The requested period.' }),
      total_requests: countField.meta({
        description: 'Requests made in the period: the sum of the next four counts.',
      }),
      approved_requests: countField,
      denied_requests: countField,
      pending_requests: countField,
      expired_requests: countField.meta({ description: 'Requests that nobody decided in time.' }),
      tokens_issued: countField,
      tokens_used: countField.meta({ description: 'Tokens whose first use was in the period.' }),
      tokens_revoked: countField,
      avg_approval_time_ms: z.number().min(0).meta({
        description: 'Mean milliseconds from request to approval; 0 when nothing was approved.',
      }),
    })
    .meta({
      id: 'AgentStatistics',
      examples: [
        {
          period: '30d',
          total_requests: 12,
          approved_requests: 8,
          denied_requests: 2,
          pending_requests: 1,
          expired_requests: 1,
          tokens_issued: 8,
          tokens_used: 7,
          tokens_revoked: 1,
          avg_approval_time_ms: 41_250.5,
        },
      ],
    }),
);

export type AgentStatistics = LazyOutput<typeof AgentStatistics>;

/**
 * Counts an agent's requests of a period by their present status, and its tokens by what happened
 * in the period: what is counted already (see `statistics/count.ts`), and the entries since then.
 * An overdue request counts as expired, even if its stored status is still `pending`.
 * @throws Problem `not_found`
 */
export async function getAgentStatistics(
  { reader, principal, runtime }: UserContext,
  { id, period }: { id: Id<'agent'> } & LazyOutput<typeof AgentStatisticsQuery>,
): Promise<AgentStatistics> {
  const account = principal.account.number;
  const now = runtime.now();
  const { unit, unitLength, from } = parsePeriod(period, now);
  const fromHour = (from * unitLength) / HOUR;
  const counterRows = [
    // One row that adds nothing, unless there is no such agent.
    sql`select ${zeroCounters} from target_agent`,
    ...(unit === 'day' ? [selectBuckets('day', from)] : []),
    selectBuckets('hour', fromHour),
    sql`select ${counterColumns} from (${countEntries(selectTail())}) where hour >= ${fromHour}`,
  ];
  const counters = reader
    .select({
      rows: sql<number>`count(*)`.as('rows'),
      requests: sum('requests'),
      approved: sum('approved'),
      denied: sum('denied'),
      expired: sum('expired'),
      approvalTime: sum('approval_time'),
      tokensIssued: sum('tokens_issued'),
      tokensUsed: sum('tokens_used'),
      tokensRevoked: sum('tokens_revoked'),
    })
    .from(
      sql`(
        with target_agent as materialized (${selectTargetAgent(account, id)})
        ${sql.join(counterRows, sql` union all `)}
      )`,
    );
  const overdueRequests = reader
    .select({ count: sql<number>`count(*)`.as('count') })
    .from(sql`${permissions} indexed by permissions_waiting`)
    .where(
      sql`${permissions.account} = ${account}
        and ${permissions.status} = ${codeOf(PERMISSION_STATUSES, 'pending')}
        and ${permissions.expiresAt} <= ${now} and ${permissions.agent} = ${agentNumberSql(account, id)}
        and ${permissions.createdAt} >= ${from * unitLength}`,
    );
  const [[counts], [overdueRow]] = await reader.load([counters, overdueRequests]);
  if (!counts?.rows) throw notFound('agent');
  const open = counts.requests - counts.approved - counts.denied - counts.expired;
  // Overdue requests after the last position read are not in the counts.
  const overdue = Math.min(overdueRow?.count ?? 0, open);
  return {
    period,
    total_requests: counts.requests,
    approved_requests: counts.approved,
    denied_requests: counts.denied,
    pending_requests: open - overdue,
    expired_requests: counts.expired + overdue,
    tokens_issued: counts.tokensIssued,
    tokens_used: counts.tokensUsed,
    tokens_revoked: counts.tokensRevoked,
    avg_approval_time_ms: counts.approved === 0 ? 0 : counts.approvalTime / counts.approved,
  };
}

/**
 * Parses a period: its unit, the milliseconds of one unit, and `from`, the number of its first day
 * or hour, counted from the epoch. The period lasts until now: `7d` is today and the 6 days before;
 * `24h` is the current hour and the 24 before.
 */
export function parsePeriod(period: string, now: number) {
  const count = Number.parseInt(period, 10);
  return period.endsWith('d')
    ? ({ unit: 'day', unitLength: DAY, from: Math.floor(now / DAY) - count + 1 } as const)
    : ({ unit: 'hour', unitLength: HOUR, from: Math.floor(now / HOUR) - count } as const);
}

/**
 * Selects the agent, and the position in the log up to which its entries are counted; NULL if all
 * are.
 */
function selectTargetAgent(account: number, id: Id<'agent'>): SQL {
  return sql`
    select ${agents.number} as number,
      iif(${trees.countDueAt} is null, null, ${account} * ${LOG_SPAN_SQL} + ${trees.counted}) as counted_to
    from ${agents} left join ${trees} on ${trees.account} = ${account}
    where ${isAgentWithId(account, id)}`;
}

/**
 * Selects the counters of the agent since a day or an hour. Old hour buckets have been merged into
 * day buckets.
 */
function selectBuckets(unit: 'day' | 'hour', from: number): SQL {
  return sql`
    select ${counterColumns} from target_agent cross join agent_statistics as counted
    where counted.agent = target_agent.number and unit = ${codeOf(STATISTICS_UNITS, unit)} and bucket >= ${from}`;
}

/** Selects the entries of the agent that are not counted yet, up to {@link MAX_TAIL}. */
function selectTail(): SQL {
  const events = sql.raw(STORED_EVENTS.keys().toArray().join());
  return sql`
    select ${countedColumns}
    from target_agent cross join audit_entries as entry indexed by audit_by_agent
    where entry.agent = target_agent.number and event in (${events})
      and pos > target_agent.counted_to and pos <= target_agent.counted_to + ${MAX_TAIL}`;
}

function sum(counter: string) {
  return sql<number>`coalesce(sum(${sql.raw(counter)}), 0)`.as(counter);
}

export const getAgentStatisticsRoute = new Hono().get(
  '/v1/agents/:id/stats',
  operation({
    id: 'getAgentStatistics',
    tag: 'Agents',
    summary: 'Get the statistics of an agent',
    description:
      'Counts the requests of the period by their status. The counts remain when audit entries expire.',
    success: ok(AgentStatistics),
    pathId: 'agent',
  }),
  userAccess('agents:read'),
  query(AgentStatisticsQuery),
  async (c) =>
    answer(
      c,
      await getAgentStatistics(c.var.context, { id: pathId(c, 'agent'), ...c.req.valid('query') }),
    ),
);
