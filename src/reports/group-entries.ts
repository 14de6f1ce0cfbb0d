import { type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import type { PositionRange } from '../audit/find-file-range';
import { selectDetail } from '../audit/select-detail';
import { codeOf, codesOf } from '../db/columns';
import type { Reader } from '../db/database';
import { auditEntries } from '../db/schema';
import { eventTypeOfCode, STORED_EVENTS, type StoredEvent } from '../db/stored-events';
import { LOG_SPAN_SQL } from '../ledger/append';
import {
  BY_SERIES,
  type CountedVote,
  type EntryGroup,
  FLAGS,
  QUICK_DECISION_MS,
  RETRY_WINDOW,
} from './entry-group';
import { MAX_EXAMPLES } from './figures';
import { type CountedOutcome, MAX_LISTED_OUTCOMES, outcomeOfUse } from './outcomes';

/**
 * Reads the next entries of a period in groups that count alike, including entries of deleted
 * agents.
 * @param range all positions of the period: flags compare entries with others in this range
 * @param low the position to start from
 * @param limit how many entries to read
 * @param now when the outcomes of uses are judged
 * @returns the groups, and the position to continue from; it is `range.high` after the last entry
 */
export async function groupEntries(
  reader: Reader,
  range: PositionRange,
  low: number,
  { limit, now }: { limit: number; now: number },
): Promise<{ groups: EntryGroup[]; next: number }> {
  const [rows] = await reader.load([
    reader
      .select({
        agent: sql<number>`agent`,
        month: sql<string>`month`,
        event: sql<number>`event`,
        decider: sql<string>`decider`,
        flags: sql<number>`flags`,
        votes: sql<string>`votes`,
        outcome: sql<CountedOutcome>`outcome`,
        positions: sql<string>`json_group_array(pos) as positions`,
      })
      .from(sql`(${selectEntries(range, low, now)} order by pos limit ${limit})`)
      .groupBy(sql`agent, month, event, decider, flags, votes, outcome`),
  ]);
  const groups = rows.map(({ event, votes, positions: json, ...row }) => {
    const positions: number[] = JSON.parse(json);
    positions.sort((a, b) => a - b);
    const [first = low] = positions;
    return {
      ...row,
      event: eventTypeOfCode(event),
      votes: readVotes(votes),
      entries: positions.length,
      first,
      last: positions.at(-1) ?? first,
      examples: positions.slice(0, MAX_EXAMPLES),
      unknown: row.outcome === 'unknown' ? positions.slice(0, MAX_LISTED_OUTCOMES) : [],
    };
  });
  const read = groups.reduce((sum, { entries }) => sum + entries, 0);
  const last = groups.reduce((max, group) => Math.max(max, group.last), low);
  if (read < limit) return { groups, next: range.high };
  return { groups, next: last + 1 };
}

function readVotes(json: string): CountedVote[] {
  const votes: [CountedVote['by'], signed: number][] = JSON.parse(json);
  return votes.map(([by, signed]) => ({ by, signed: signed === 1 }));
}

const entry = alias(auditEntries, 'entry');
const later = alias(auditEntries, 'later');
const earlier = alias(auditEntries, 'earlier');

/** Selects the entries from a position to the end of the range, with what groups them. */
function selectEntries(range: PositionRange, low: number, now: number): SQL {
  // The first 48 bits of a permission's id are the time of the request (RFC 9562 section 5.7).
  const isBySeries = sql`${entry.event} = ${code('approve')}
    and ${selectDetail('decided_via', 'entry')} = 'series'`;
  const quick = sql`${selectDetail('policy_id', 'entry')} is null and not coalesce(${isBySeries}, 0)
    and ${entry.permission} >=
      unhex(printf('%012x', ${entry.createdAt} - ${inlineNumber(QUICK_DECISION_MS)}))`;
  const retried = sql`${selectDetail('resource', 'entry')} in (
    select ${selectDetail('resource', 'later')}
    from ${auditEntries} as ${later} indexed by audit_by_agent_action
    where ${later.agent} = ${entry.agent} and ${later.action} = ${entry.action}
      and ${later.event} = ${code('request')}
      and ${later.pos} > ${entry.pos} and ${later.pos} < ${range.high}
    order by ${later.pos} limit ${inlineNumber(RETRY_WINDOW)})`;
  const reviewed = sql`${selectDetail('review_policy_id', 'entry')} is not null`;
  const usedBefore = sql`exists (
    select 1 from ${auditEntries} as ${earlier}
    where ${earlier.pos} = ${entry.pos} / ${LOG_SPAN_SQL} * ${LOG_SPAN_SQL} + ${entry.previous}
      and ${earlier.event} = ${code('use')} and ${earlier.pos} >= ${range.low})`;
  // Details that are too deep for SQLite are older than votes.
  const hasVotes = sql`${entry.event} in (${codesOf(STORED_EVENTS, ['approve', 'deny', 'request_expire'])})
    and json_valid(${entry.details}) and ${entry.details} ->> 'votes' is not null`;
  const givers = sql`(
    select json_group_array(json_array(value, 0)) from json_each(${entry.details}, '$.series.given_by')
  )`;
  const votes = sql`iif(${isBySeries}, ${givers}, iif(${hasVotes}, (
    select json_group_array(json_array(value ->> 'by', value ->> 'signed'))
    from json_each(${entry.details}, '$.votes')
  ), '[]'))`;
  const flag = (condition: SQL, bit: number) => sql`iif(${condition}, ${inlineNumber(bit)}, 0)`;
  const isQuick = flag(quick, FLAGS.quick);
  const isReviewed = flag(reviewed, FLAGS.reviewed);
  const withdrawn = sql`${selectDetail('expired', 'entry')} = 'withdrawn'`;
  return sql`
    select ${entry.pos}, ${entry.agent}, ${entry.event},
      strftime('%Y-%m', ${entry.createdAt} / 1000, 'unixepoch') as month,
      iif(${isBySeries}, ${BY_SERIES}, iif(
        ${entry.event} in (${codesOf(STORED_EVENTS, ['approve', 'deny'])}), ${selectDetail('decided_by', 'entry')}, ''
      )) as decider,
      ${votes} as votes,
      iif(${entry.event} = ${code('use')}, ${outcomeOfUse(sql`${entry.pos}`, sql`${entry.permission}`, now)}, '') as outcome,
      case ${entry.event}
        when ${code('approve')} then ${isQuick} + ${isReviewed}
        when ${code('deny')} then
          ${isQuick} + ${flag(retried, FLAGS.retried)} + ${isReviewed}
        when ${code('use')} then ${flag(sql`not ${usedBefore}`, FLAGS.firstUse)}
        when ${code('request_expire')} then ${flag(withdrawn, FLAGS.withdrawn)}
        when ${code('token_expire')} then ${inlineNumber(FLAGS.unusedToken)}
        else 0
      end as flags
    from ${auditEntries} as ${entry} not indexed
    where ${entry.pos} >= ${low} and ${entry.pos} < ${range.high}`;
}

function code(event: StoredEvent): SQL {
  return codeOf(STORED_EVENTS, event);
}

/** A number written into the statement, because D1 binds numbers as REAL. */
function inlineNumber(value: number): SQL {
  return sql.raw(String(value));
}
