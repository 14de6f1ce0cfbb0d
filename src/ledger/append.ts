import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import { EVENT_TYPES } from '../db/schema';
import { toHex } from '../lib/bytes';
import { idBytes } from '../lib/typeid';
import { type Authority, isValidAt } from './authority';
import type { Entry } from './entry';

/** Exclusive maximum of an account's sequence numbers. The column `pos` is account number × LOG_SPAN + sequence. */
export const LOG_SPAN = 2 ** 32;

/** {@link LOG_SPAN} as a literal, which keeps the arithmetic of integers: a bound number is a REAL. */
export const LOG_SPAN_SQL = sql.raw(String(LOG_SPAN));

/** Events that an agent can cause without limit. Every other event follows one of these. */
const UNBOUNDED_EVENTS = sql`(${codeOf(EVENT_TYPES, 'request')}, ${codeOf(EVENT_TYPES, 'use')})`;

/**
 * Entries as a subquery over a JSON array. `rank` numbers the entries of each account from 1. `mark` is the value that
 * the permission's `last_entry` must have: the id of the last of these entries on the same permission.
 */
export function draftRows(entries: readonly Entry[]): SQL {
  const marks = new Map(entries.map((entry) => [entry.permission, entry.id]));
  const ranks = new Map<number, number>();
  const nextRank = (account: number) => {
    const rank = (ranks.get(account) ?? 0) + 1;
    ranks.set(account, rank);
    return rank;
  };
  const rows = entries.map((entry) => [
    entry.account,
    nextRank(entry.account),
    toHex(idBytes(entry.id)),
    toHex(idBytes(entry.permission)),
    toHex(idBytes(marks.get(entry.permission) ?? entry.id)),
    EVENT_TYPES.indexOf(entry.event),
    entry.details.action,
    entry.at,
    entry.origin.ipAddress,
    entry.origin.userAgent,
    JSON.stringify(entry.details),
    toHex(entry.salt),
  ]);
  return sql`(
    select value ->> 0 as account, value ->> 1 as rank, unhex(value ->> 2) as id, unhex(value ->> 3) as permission,
      unhex(value ->> 4) as mark, value ->> 5 as event, value ->> 6 as action, value ->> 7 as at,
      value ->> 8 as ip_address, value ->> 9 as user_agent, value ->> 10 as details, unhex(value ->> 11) as salt
    from json_each(${JSON.stringify(rows)})
  )`;
}

/**
 * Maximum number of entries in an account's log. A full log takes no new requests and uses; open requests can still be
 * decided or expire, and tokens be revoked.
 */
export const MAX_LOG_LENGTH = 5_000_000;

/** The log of the account has reached {@link MAX_LOG_LENGTH}. Nothing was written. */
export class LogFull extends Error {}

/** The time that an entry gets: its own, or that of the entry before it if that is later. */
const writtenAt = sql`max(draft.at, coalesce(head.created_at, 0), coalesce(accounts.erased_at, 0))`;

/**
 * The number of entries in a log, as SQL: the distance from the first to the last. Only where that reaches the maximum
 * are the erased entries of deleted agents subtracted.
 */
const logLength = sql`(
  select iif(head.pos - first.pos + 1 < ${MAX_LOG_LENGTH}, head.pos - first.pos + 1, head.pos - first.pos + 1 - (
    select coalesce(sum(range.value ->> 1 - max(range.value ->> 0, first.pos % ${LOG_SPAN_SQL}) + 1), 0)
    from erased_entries indexed by erased_entries_by_account, json_each(erased_entries.ranges) as range
    where erased_entries.account = draft.account and range.value ->> 1 >= first.pos % ${LOG_SPAN_SQL}
  ))
  from (
    select pos from audit_entries
    where pos > draft.account * ${LOG_SPAN_SQL} and pos < (draft.account + 1) * ${LOG_SPAN_SQL} order by pos limit 1
  ) as first
)`;

/**
 * Appends entries to their accounts' logs, or aborts the transaction.
 *
 * Three NOT NULL columns enforce the conditions: `id` is NULL if the credential is not valid at the time of the entry,
 * `agent` if the transition lost or the agent is deleted, `action` if the log is full. The statement itself computes
 * the sequence, the account's highest + 1, and the time, which never decreases: no gaps, and no lock.
 */
export function appendEntries(drafts: SQL, authority: Authority): SQL {
  const hasRoom = sql`draft.event not in ${UNBOUNDED_EVENTS} or coalesce(${logLength}, 0) < ${MAX_LOG_LENGTH}`;
  const isValid = authority.kind === 'service' ? sql`1` : isValidAt(authority, writtenAt);
  return sql`
    insert into audit_entries
      (pos, id, agent, permission, event, action, created_at, ip_address, user_agent, details, salt)
    select
      draft.account * ${LOG_SPAN_SQL}
        + max(coalesce(head.pos - draft.account * ${LOG_SPAN_SQL}, 0), coalesce(accounts.erased_sequence, 0)) + draft.rank,
      iif(draft.rank > 1 or ${isValid}, draft.id, null), agents.number,
      draft.permission, draft.event, iif(${hasRoom}, draft.action, null), ${writtenAt},
      draft.ip_address, draft.user_agent, draft.details, draft.salt
    from ${drafts} as draft
    left join accounts on accounts.number = draft.account
    left join permissions on permissions.account = draft.account and permissions.id = draft.permission
      and permissions.last_entry = draft.mark
    left join agents on agents.number = permissions.agent and agents.account = accounts.number
    left join audit_entries as head on head.pos = (
      select pos from audit_entries
      where pos > draft.account * ${LOG_SPAN_SQL} and pos < (draft.account + 1) * ${LOG_SPAN_SQL} order by pos desc limit 1
    )`;
}
