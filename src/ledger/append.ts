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

/** Events that an agent can cause without limit. Each leads to at most a few others. */
const UNBOUNDED_EVENTS = sql`(${codeOf(EVENT_TYPES, 'request')}, ${codeOf(EVENT_TYPES, 'use')})`;

/**
 * Entries as rows of a JSON array. `rank` is an entry's place among those of its account, from 1. `mark` is the id that the
 * permission's `last_entry` must have: that of the last entry on this permission.
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
 * Maximum entries that an account's log keeps. At the limit requests and uses are refused; what was requested before can
 * still be decided, revoked or expire.
 */
export const MAX_LOG_LENGTH = 5_000_000;

/** The log of the account has reached {@link MAX_LOG_LENGTH}. Nothing was written. */
export class LogFull extends Error {}

/** The time at which a draft is written: no entry is older than the one before it. */
const writtenAt = sql`max(draft.at, coalesce(head.created_at, 0), coalesce(accounts.erased_at, 0))`;

/**
 * How many entries the log keeps, as SQL: the span from its first to its last entry and, only where that reaches the
 * maximum, less the recorded gaps of deleted agents in it.
 */
const keptEntries = sql`(
  select iif(head.pos - first.pos + 1 < ${MAX_LOG_LENGTH}, head.pos - first.pos + 1, head.pos - first.pos + 1 - (
    select coalesce(sum(range.value ->> 1 - max(range.value ->> 0, first.pos % ${span}) + 1), 0)
    from erased_entries indexed by erased_entries_by_account, json_each(erased_entries.ranges) as range
    where erased_entries.account = draft.account and range.value ->> 1 >= first.pos % ${span}
  ))
  from (
    select pos from audit_entries
    where pos > draft.account * ${span} and pos < (draft.account + 1) * ${span} order by pos limit 1
  ) as first
)`;

/**
 * Appends the drafts to their accounts' logs, or aborts the transaction. Three columns that are NOT NULL decide: `id` is
 * NULL if the credential is not valid at the time of its first entry, `agent` if this transition lost or its agent is
 * gone, `action` if the log is full. The sequence is the account's highest + 1 and time never runs backwards, in the
 * statement itself: no gap, no lock.
 */
export function appendEntries(drafts: SQL, authority: Authority): SQL {
  const hasRoom = sql`draft.event not in ${UNBOUNDED_EVENTS} or coalesce(${keptEntries}, 0) < ${MAX_LOG_LENGTH}`;
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
