import { type SQL, sql } from 'drizzle-orm';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import { prepareWrite, type Statement } from '../db/statements';
import { storedEventCode } from '../db/stored-events';
import { toHex } from '../lib/bytes';
import { idBytes } from '../lib/typeid';
import { prepareCredentialGuard } from './authority';
import type { Entry } from './entry';
import { type Guard, prepareGuard } from './guard';
import { ACCOUNTS, accountsOf } from './marks';
import { storedDetails, WITHOUT_POLICY } from './stored-details';

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

/**
 * Entries as a JSON array of rows, for {@link DRAFTS}. `rank` numbers the entries of each account
 * from 1; `previous_rank` is that of the entry before about the same permission, null for the
 * first.
 */
function draftRows(entries: readonly Entry[]): string {
  const ranks = new Map<number, number>();
  const previousRanks = new Map<string, number>();
  const rows = entries.map((entry) => {
    const rank = (ranks.get(entry.account) ?? 0) + 1;
    const previousRank = previousRanks.get(entry.permission) ?? null;
    ranks.set(entry.account, rank);
    previousRanks.set(entry.permission, rank);
    return [
      entry.account,
      rank,
      previousRank,
      entry.agent,
      toHex(idBytes(entry.permission)),
      storedEventCode(entry),
      entry.details.action,
      entry.at,
      entry.origin.ipAddress,
      entry.origin.userAgent,
      storedDetails(withPolicyPlace(entry)),
      toHex(entry.random),
    ];
  });
  return JSON.stringify(rows);
}

/** The entries of {@link draftRows}, as a subquery with a placeholder. */
const DRAFTS = sql`(
  select value ->> 0 as account, value ->> 1 as rank, value ->> 2 as previous_rank, value ->> 3 as agent,
    unhex(value ->> 4) as permission, value ->> 5 as event, value ->> 6 as action, value ->> 7 as at,
    value ->> 8 as ip_address, value ->> 9 as user_agent, value ->> 10 as details, value ->> 11 as policy_place,
    unhex(value ->> 11) as random
  from json_each(${sql.placeholder('drafts')})
)`;

/**
 * Marks the place of the policy in the entry of a permission that was not read, for
 * {@link appendEntries} to fill in. The mark is the random bytes of the entry: nothing else in its
 * details can be equal to them.
 */
function withPolicyPlace(entry: Entry): Entry {
  if (entry.agent !== null) return entry;
  return { ...entry, details: { ...entry.details, policy_id: toHex(entry.random) } };
}

/**
 * Number of entries with which an account's log is full. A full log refuses requests and uses; open
 * requests can still be decided, tokens be revoked, and both expire.
 */
export const MAX_LOG_LENGTH = 5_000_000;

/** The log of an account is full: see {@link MAX_LOG_LENGTH}. Nothing was written. */
export class LogFull extends Error {}

/** The position of the newest entry in the log of an account, as SQL; NULL for an empty log. */
function newestPosition(account: SQL): SQL {
  return sql`(
    select newest.pos from audit_entries as newest
    where newest.pos > ${account} * ${LOG_SPAN_SQL} and newest.pos < (${account} + 1) * ${LOG_SPAN_SQL}
    order by newest.pos desc limit 1
  )`;
}

/**
 * The guard of the credential that writes entries at a time. The entries get that time, or the time
 * of the account's newest entry if it is later, also of one that is erased. The credential must be
 * valid at the time that they get.
 */
export const writerGuard = prepareCredentialGuard(sql`max(
  ${sql.placeholder('at')}, coalesce(accounts.erased_at, 0),
  coalesce((
    select head.created_at from audit_entries as head
    where head.pos = ${newestPosition(sql`accounts.number`)}
  ), 0)
)`);

/**
 * The guards of the logs: a full log takes no request and no use.
 *
 * The length of a log is the distance from its first entry to its last. Only where that reaches the
 * maximum are the erased entries of deleted agents subtracted.
 */
export function roomGuards(entries: readonly Entry[]): Guard[] {
  const accounts = entries
    .filter(({ event }) => event === 'request' || event === 'use')
    .map(({ account }) => account);
  return [...new Set(accounts)].map((account) => roomGuard({ account }, () => new LogFull()));
}

const roomGuard = prepareGuard(
  'log_has_room',
  () => sql`coalesce(${logLength(sql`${sql.placeholder('account')}`)}, 0) < ${MAX_LOG_LENGTH}`,
);

function logLength(account: SQL): SQL {
  return sql`(
    select iif(span.length < ${MAX_LOG_LENGTH}, span.length, span.length - (
      select coalesce(sum(range.value ->> 1 - max(range.value ->> 0, span.first % ${LOG_SPAN_SQL}) + 1), 0)
      from erased_entries indexed by erased_entries_by_account, json_each(erased_entries.ranges) as range
      where erased_entries.account = ${account} and range.value ->> 1 >= span.first % ${LOG_SPAN_SQL}
    ))
    from (
      select oldest.pos as first, ${newestPosition(account)} - oldest.pos + 1 as length
      from audit_entries as oldest
      where oldest.pos > ${account} * ${LOG_SPAN_SQL} and oldest.pos < (${account} + 1) * ${LOG_SPAN_SQL}
      order by oldest.pos limit 1
    ) as span
  )`;
}

/**
 * A permission was not in the state that its change expects, or its agent or account is deleted.
 */
export class TransitionLost extends Error {}

/**
 * The guard of a state change, to be checked after its statements: the `last_entry` of each
 * permission is the last of the entries about it, and its agent and account exist.
 */
export function transitionGuard(entries: readonly Entry[]): Guard {
  const lastEntries = new Map(entries.map((entry) => [entry.permission, entry]));
  const rows = [...lastEntries.values()].map((entry) => [
    entry.account,
    toHex(idBytes(entry.permission)),
    entriesAfter(entries, entry),
  ]);
  return permissionGuard({ rows: JSON.stringify(rows) }, () => new TransitionLost());
}

const permissionGuard = prepareGuard(
  'permission_changed_as_expected',
  () => sql`not exists (
      select 1 from json_each(${sql.placeholder('rows')}) as draft where not exists (
        select 1 from permissions
        join agents on agents.number = permissions.agent and agents.account = permissions.account
        join accounts on accounts.number = permissions.account
        where permissions.account = draft.value ->> 0 and permissions.id = unhex(draft.value ->> 1)
          and permissions.last_entry = ${appendedSequence(sql`permissions.account`, sql`draft.value ->> 2`)}
      )
    )`,
);

/** How many of the entries follow one of them in the log of its account. */
export function entriesAfter(entries: readonly Entry[], entry: Entry): number {
  const later = entries.slice(entries.indexOf(entry) + 1);
  return later.filter(({ account }) => account === entry.account).length;
}

/**
 * The sequence of an entry that {@link appendEntries} has appended in the same transaction, as SQL.
 * @param after how many entries it has appended after that one in the log of the account
 */
export function appendedSequence(account: number | SQL, after: number | SQL = 0): SQL<number> {
  return sql`coalesce(${newestPosition(sql`${account}`)} % ${LOG_SPAN_SQL} - ${after}, 0)`;
}

/**
 * Returns the statement that appends entries to their accounts' logs. It must run before the
 * changes of the permissions: it reads which entry was the last of each.
 *
 * The statement itself computes the sequence, from the account's highest + 1 on, and the time,
 * which never decreases: so there are no gaps, and no lock is needed.
 */
export function appendEntries(build: DrizzleD1Database, entries: readonly Entry[]): Statement {
  return appendStatement(build, { drafts: draftRows(entries), accounts: accountsOf(entries) });
}

const appendStatement = prepareWrite((build: DrizzleD1Database) =>
  build.run(sql`
    insert into audit_entries
      (pos, agent, permission, previous, event, action, created_at, ip_address, user_agent, details, random)
    select
      log.account * ${LOG_SPAN_SQL} + log.length + draft.rank,
      coalesce(draft.agent, permissions.agent), draft.permission,
      coalesce(log.length + draft.previous_rank, permissions.last_entry), draft.event, draft.action,
      max(draft.at, log.newest_at), draft.ip_address, draft.user_agent,
      iif(draft.agent is null, replace(
        draft.details, ',"policy_id":' || json_quote(draft.policy_place),
        coalesce(',"policy_id":"' || permissions.policy_id || '"', ${WITHOUT_POLICY})
      ), draft.details),
      draft.random
    from ${DRAFTS} as draft
    join (
      select accounts.number as account,
        max(coalesce(head.pos % ${LOG_SPAN_SQL}, 0), accounts.erased_sequence) as length,
        max(coalesce(head.created_at, 0), accounts.erased_at) as newest_at
      from accounts left join audit_entries as head on head.pos = ${newestPosition(sql`accounts.number`)}
      where accounts.number in ${ACCOUNTS}
    ) as log on log.account = draft.account
    left join permissions on permissions.account = draft.account and permissions.id = draft.permission`),
);
