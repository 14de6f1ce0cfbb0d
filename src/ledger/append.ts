import { type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import { EVENT_TYPES } from '../db/schema';
import { toHex } from '../lib/bytes';
import { idBytes } from '../lib/typeid';
import { type Authority, isValidAt } from './authority';
import type { Entry } from './entry';

/** Sequence numbers of one account stay below this; `pos` is account number × this + sequence. */
export const LOG_SPAN = 2 ** 32;

const span = sql.raw(String(LOG_SPAN));

/** The events that an agent can repeat at will. Of the others a few at most follow each. */
const GROWING = sql`(${codeOf(EVENT_TYPES, 'request')}, ${codeOf(EVENT_TYPES, 'use')})`;

/**
 * Entries as rows of a JSON array. `rank` is an entry's place among those of its account, from 1. `mark` is the id that the permission's `last_entry` must have: that of the last
 * entry on this permission.
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
 * Places of an account's log between its first and its last entry that are kept. From here on nothing new is asked for or
 * used; what was asked for can be decided, revoked and run out.
 */
export const MAX_LOG_LENGTH = 5_000_000;

/** The time at which a draft is written: no entry is older than the one before it. */
const writtenAt = sql`max(draft.at, coalesce(head.created_at, 0), coalesce(accounts.erased_at, 0))`;

/**
 * Appends the drafts to their accounts' logs. Three columns that are NOT NULL decide whether the statement succeeds, and
 * the batch with it. `id` is there only if the credential is still valid at the time that its first entry bears,
 * and `action` only while the log has room for it.
 * `agent` comes from the state row, found only if this very transition won, of an agent that still exists. The sequence
 * is the account's highest + 1 and time never runs backwards, in the statement itself: no gap, no lock.
 */
export function appendEntries(drafts: SQL, authority: Authority): SQL {
  const start = sql`draft.account * ${span}`;
  const hasRoom = sql`draft.event not in ${GROWING} or coalesce(head.pos - (
    select pos from audit_entries where pos > ${start} and pos < ${start} + ${span} order by pos limit 1
  ), 0) < ${MAX_LOG_LENGTH - 1}`;
  const isValid = authority.kind === 'service' ? sql`1` : isValidAt(authority, writtenAt);
  return sql`
    insert into audit_entries
      (pos, id, agent, permission, event, action, created_at, ip_address, user_agent, details, salt)
    select
      draft.account * ${span}
        + max(coalesce(head.pos - draft.account * ${span}, 0), coalesce(accounts.erased_sequence, 0)) + draft.rank,
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
      where pos > draft.account * ${span} and pos < (draft.account + 1) * ${span} order by pos desc limit 1
    )`;
}
