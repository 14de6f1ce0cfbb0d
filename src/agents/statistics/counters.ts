import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { STORED_EVENTS, type StoredEvent } from '../../db/stored-events';
import { LOG_SPAN_SQL } from '../../ledger/append';
import { HOUR } from '../../lib/time';

/** The columns of `agent_statistics` that count something. */
const COUNTERS = [
  'requests',
  'approved',
  'denied',
  'expired',
  'approval_time',
  'tokens_issued',
  'tokens_used',
  'tokens_revoked',
] as const;

/** The counters as a list of columns. */
export const counterColumns = sql.raw(COUNTERS.join(', '));

/** The sums of the counters as a list of columns. */
export const counterSums = sql.raw(COUNTERS.map((name) => `sum(${name})`).join(', '));

/** Zeros for the counters. */
export const zeroCounters = sql.raw(COUNTERS.map((name) => `0 as ${name}`).join(', '));

/**
 * The clause of an insertion into `agent_statistics` that adds to the counters of existing rows.
 */
export const addToCounters = sql.raw(
  `on conflict (agent, unit, bucket) do update set ${COUNTERS.map(
    (name) => `${name} = ${name} + excluded.${name}`,
  ).join(', ')}`,
);

/** The columns of audit entries that {@link countEntries} reads. */
export const countedColumns = sql.raw('pos, agent, permission, previous, event, created_at');

/**
 * Selects what entries count as: the agent, the hour since the epoch in UTC, and the counters.
 *
 * Requests and their outcomes count in the hour of the request. Tokens count in the hour in which
 * they were issued, first used or revoked. So an approval is two rows, and an entry that counts
 * nothing is none.
 * @param entries a select of {@link countedColumns}
 */
export function countEntries(entries: SQL): SQL {
  const ofRequest = sql`(${is('request')} or ${is('approve')} or ${is('deny')} or ${is('request_expire')})`;
  const ofToken = sql`(${is('approve')} or ${isFirstUse} or ${is('revoke')})`;
  return sql`
    select agent, iif(of_token, created_at, requested_at) / ${sql.raw(String(HOUR))} as hour,
      not of_token and ${is('request')} as requests,
      not of_token and ${is('approve')} as approved,
      not of_token and ${is('deny')} as denied,
      not of_token and ${is('request_expire')} as expired,
      iif(not of_token and ${is('approve')}, max(created_at - requested_at, 0), 0) as approval_time,
      of_token and ${is('approve')} as tokens_issued,
      of_token and ${is('use')} as tokens_used,
      of_token and ${is('revoke')} as tokens_revoked
    from (
      select entry.agent, entry.event, entry.created_at, ${requestTime} as requested_at, part.of_token
      from (${entries}) as entry cross join (select 0 as of_token union all select 1) as part
      where iif(part.of_token, ${ofToken}, ${ofRequest})
    ) as entry`;
}

function is(event: StoredEvent): SQL {
  return sql`entry.event = ${codeOf(STORED_EVENTS, event)}`;
}

/**
 * The time of the request that an entry is about, in milliseconds since the epoch: the first 48
 * bits of the permission's id. SQLite reads hexadecimal numbers only in JSON5.
 */
const requestTime = sql`('0x' || hex(substr(entry.permission, 1, 6))) ->> '$'`;

/** The position before the first entry of the log that an entry is in. */
const logStart = sql`(entry.pos - entry.pos % ${LOG_SPAN_SQL})`;

/**
 * Whether all uses of a token are still in the log, from an entry about it on: they are in the
 * chain from the permission's last entry to this one.
 */
const hasAllUses = sql`
  with recursive later (pos, previous, event) as (
    select last.pos, last.previous, last.event
    from permissions as used cross join audit_entries as last
    where used.account = entry.pos / ${LOG_SPAN_SQL} and used.id = entry.permission
      and last.pos = ${logStart} + used.last_entry
    union all
    select before.pos, before.previous, before.event
    from later cross join audit_entries as before
    where before.pos = ${logStart} + later.previous and later.pos > entry.pos
  )
  select count(*) = (
    select token_uses from permissions as used
    where used.account = entry.pos / ${LOG_SPAN_SQL} and used.id = entry.permission
  ) from later where event = ${codeOf(STORED_EVENTS, 'use')}`;

/**
 * Whether an entry is the first use of a token: the entry before it of the same permission is the
 * approval. Where retention has erased that one, a use is the first if all uses are still there.
 */
const isFirstUse = sql`(${is('use')} and coalesce((
  select earlier.event = ${codeOf(STORED_EVENTS, 'approve')} from audit_entries as earlier
  where earlier.pos = ${logStart} + entry.previous
), (${hasAllUses})))`;
