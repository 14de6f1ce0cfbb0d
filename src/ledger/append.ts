import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import { EVENT_TYPES } from '../db/schema';
import { toHex } from '../lib/bytes';
import { idBytes } from '../lib/typeid';
import { type Authority, isValidAt } from './authority';
import type { Entry } from './entry';

/**
 * Exclusive maximum of sequence numbers. The sequence of an entry counts from 1 within its
 * account's log; its position in the log, the column `pos`, is account number × LOG_SPAN +
 * sequence.
 */
export const LOG_SPAN = 2 ** 32;

/**
 * {@link LOG_SPAN} as an SQL literal, so that a division by it yields an integer: D1 binds numbers
 * as REAL.
 */
export const LOG_SPAN_SQL = sql.raw(String(LOG_SPAN));

/** Events that a full log refuses. Every other event happens to a permission at most once. */
const REFUSED_WHEN_FULL = sql`(${codeOf(EVENT_TYPES, 'request')}, ${codeOf(EVENT_TYPES, 'use')})`;

/**
 * Entries as a subquery over a JSON array. `rank` numbers the entries of each account from 1.
 * `last_entry` is the id of the last of these entries on the same permission: the changes before
 * them in the transaction must have set the permission's column `last_entry` to it.
 */
export function draftRows(entries: readonly Entry[]): SQL {
  const lastEntries = new Map(entries.map((entry) => [entry.permission, entry.id]));
  const ranks = new Map<number, number>();
  const rows = entries.map((entry) => {
    const rank = (ranks.get(entry.account) ?? 0) + 1;
    ranks.set(entry.account, rank);
    return [
      entry.account,
      rank,
      toHex(idBytes(entry.id)),
      toHex(idBytes(entry.permission)),
      toHex(idBytes(lastEntries.get(entry.permission) ?? entry.id)),
      EVENT_TYPES.indexOf(entry.event),
      entry.details.action,
      entry.at,
      entry.origin.ipAddress,
      entry.origin.userAgent,
      JSON.stringify(entry.details),
      toHex(entry.salt),
    ];
  });
  return sql`(
    select value ->> 0 as account, value ->> 1 as rank, unhex(value ->> 2) as id, unhex(value ->> 3) as permission,
      unhex(value ->> 4) as last_entry, value ->> 5 as event, value ->> 6 as action, value ->> 7 as at,
      value ->> 8 as ip_address, value ->> 9 as user_agent, value ->> 10 as details, unhex(value ->> 11) as salt
    from json_each(${JSON.stringify(rows)})
  )`;
}

/**
 * Number of entries with which an account's log is full. A full log refuses requests and uses; open
 * requests can still be decided, tokens be revoked, and both expire.
 */
export const MAX_LOG_LENGTH = 5_000_000;

/** The log of an account is full: see {@link MAX_LOG_LENGTH}. Nothing was written. */
export class LogFull extends Error {}

/**
 * The time that an entry gets: its own, or that of the account's newest entry, even if erased, if
 * that is later.
 */
const writtenAt = sql`max(draft.at, coalesce(head.created_at, 0), coalesce(accounts.erased_at, 0))`;

/**
 * The number of entries in the log whose newest entry is the row `head`, as SQL: the distance from
 * the first to the last. Only where that reaches the maximum are the erased entries of deleted
 * agents subtracted.
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
 * Returns the statement that appends entries to their accounts' logs, or aborts the transaction.
 *
 * Three NOT NULL columns enforce the conditions: `id` is NULL if the credential is not valid at the
 * time of the entry, `agent` if the permission has another `last_entry` or the agent is deleted,
 * `action` if the log is full. The ledger tells its callers so with `CredentialEnded`, with null
 * instead of results, and with {@link LogFull}. The statement itself computes the sequence, from
 * the account's highest + 1 on, and the time, which never decreases: so there are no gaps, and no
 * lock is needed.
 * @param drafts the result of {@link draftRows}
 */
export function appendEntries(drafts: SQL, authority: Authority): SQL {
  const hasRoom = sql`draft.event not in ${REFUSED_WHEN_FULL} or coalesce(${logLength}, 0) < ${MAX_LOG_LENGTH}`;
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
      and permissions.last_entry = draft.last_entry
    left join agents on agents.number = permissions.agent and agents.account = accounts.number
    left join audit_entries as head on head.pos = (
      select pos from audit_entries
      where pos > draft.account * ${LOG_SPAN_SQL} and pos < (draft.account + 1) * ${LOG_SPAN_SQL} order by pos desc limit 1
    )`;
}
