import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import type { Reader } from '../db/database';
import { agents, auditEntries, OUTCOME_STATES, permissions } from '../db/schema';
import { LOG_SPAN_SQL } from '../ledger/append';
import { formatTime } from '../lib/time';
import type { ReportContent } from './content';

/** How many acts with an unknown outcome a report lists: the first ones. */
export const MAX_LISTED_OUTCOMES = 200;

/** The outcome of a use as a report counts it; empty where none was promised. */
export type CountedOutcome = Exclude<(typeof OUTCOME_STATES)[number], 'promised'> | '';

/**
 * The outcome of the use in an entry at a time, as SQL: see {@link CountedOutcome}.
 * @param pos the position of the entry
 * @param permission the id of its permission
 */
export function outcomeOfUse(pos: SQL, permission: SQL, now: number): SQL {
  const words = OUTCOME_STATES.filter((state) => state !== 'promised').map(
    (state) => sql`when ${codeOf(OUTCOME_STATES, state)} then ${sql.raw(`'${state}'`)}`,
  );
  return sql`coalesce((
    select case
      iif(
        used.outcome_state = ${codeOf(OUTCOME_STATES, 'awaited')} and used.outcome_due_at <= ${now},
        ${codeOf(OUTCOME_STATES, 'unknown')}, used.outcome_state
      ) ${sql.join(words, sql` `)} end
    from ${permissions} as used
    where used.account = ${pos} / ${LOG_SPAN_SQL} and used.id = ${permission}
  ), '')`;
}

/** Reads the acts of uses, to list them. Those whose permission was erased are missing. */
export async function readActs(
  reader: Reader,
  positions: readonly number[],
): Promise<ReportContent['outcomes']['unknown_acts']> {
  const [rows] = await reader.load([
    reader
      .select({
        id: permissions.id,
        agentId: sql<string>`${agents.id}`.mapWith(agents.id).as('agent_id'),
        action: sql<string>`${permissions.action}`.as('act_action'),
        resource: permissions.resource,
        usedAt: sql<number>`${auditEntries.createdAt}`.as('used_at'),
        summary: permissions.outcomeSummary,
      })
      .from(sql`json_each(${JSON.stringify(positions)}) as wanted`)
      .crossJoin(auditEntries)
      .crossJoin(permissions)
      .innerJoin(agents, sql`${agents.number} = ${permissions.agent}`)
      .where(
        sql`${auditEntries.pos} = wanted.value and ${permissions.id} = ${auditEntries.permission}
          and ${permissions.account} = ${auditEntries.pos} / ${LOG_SPAN_SQL}`,
      )
      .orderBy(auditEntries.pos),
  ]);
  return rows.map(({ id, agentId, action, resource, usedAt, summary }) => ({
    permission_id: id,
    agent_id: agentId,
    action,
    resource,
    used_at: formatTime(usedAt),
    summary,
  }));
}
