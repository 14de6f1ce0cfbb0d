import { type SQL, sql } from 'drizzle-orm';
import type { BatchResponse } from 'drizzle-orm/batch';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import { type Batch, ConstraintError, type Database, type Statement } from '../db/database';
import type { accounts, agentKeys, agents, erasures, permissions, userTokens } from '../db/schema';
import { EVENT_TYPES } from '../db/schema';
import { toHex } from '../lib/bytes';
import { idBytes } from '../lib/typeid';
import type { Entry } from './entry';
import { countEvents } from './statistics';

/** Tables of records about the account, which change without an audit entry. */
type RecordTable = typeof accounts | typeof userTokens | typeof agents | typeof agentKeys | typeof erasures;

/** Builds statements on records. States are out of its reach. */
export interface RecordWriter {
  insert<T extends RecordTable>(table: T): ReturnType<typeof build.insert<T>>;
  update<T extends RecordTable>(table: T): ReturnType<typeof build.update<T>>;
  delete<T extends RecordTable>(table: T): ReturnType<typeof build.delete<T>>;
}

/** Builds statements on the state of permissions and tokens. Only {@link Ledger.commit} hands one out. */
export interface StateWriter {
  insert(table: typeof permissions): ReturnType<typeof build.insert<typeof permissions>>;
  update(table: typeof permissions): ReturnType<typeof build.update<typeof permissions>>;
}

/** A state change and what the audit log says of it. */
export interface Transition<C extends Batch> {
  /**
   * Guarded statements: each must match a row only in the state that it leaves, and set the row's `last_entry` to the
   * last of its entries. An entry whose row does not name it aborts the whole transition.
   */
  changes: (write: StateWriter) => C;
  entries: readonly [Entry, ...Entry[]];
}

declare const build: DrizzleD1Database;

/** Sequence numbers of one account stay below this; `pos` is account number × this + sequence. */
export const LOG_SPAN = 2 ** 32;

/** The one road to a change of the database: nothing changes state without its entry in the audit log. */
export class Ledger {
  constructor(private readonly database: Database) {}

  /**
   * Commits a state change together with its audit entries and counters, in one transaction.
   * @returns the answers of the changes, or null when the transition lost: a guard matched nothing, and nothing at all
   *   was written
   */
  async commit<const C extends Batch>(transition: Transition<C>): Promise<BatchResponse<C> | null> {
    const changes: readonly Statement[] = transition.changes(this.database.build);
    const drafts = draftRows(transition.entries);
    const { build } = this.database;
    try {
      const results = await this.database.run([
        ...changes,
        build.run(appendEntries(drafts)),
        build.run(countEvents(drafts)),
      ] as unknown as Batch);
      return (results as readonly unknown[]).slice(0, changes.length) as unknown as BatchResponse<C>;
    } catch (error) {
      if (error instanceof ConstraintError && error.kind === 'not null' && error.column.endsWith('.agent')) return null;
      throw error;
    }
  }

  /** Changes records of the account (agents, credentials, settings), in one transaction. */
  async change<const C extends Batch>(changes: (write: RecordWriter) => C): Promise<BatchResponse<C>> {
    return this.database.run(changes(this.database.build as unknown as RecordWriter));
  }
}

/**
 * Entries as rows of a JSON array. `rank` is an entry's place among those of its account, from 1. `mark` is the id that the permission's `last_entry` must have: that of the last
 * entry on this permission.
 */
function draftRows(entries: readonly Entry[]): SQL {
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
 * Appends the drafts to their accounts' logs. `agent` is NOT NULL and comes from the state row, found only if this very
 * transition won, of an agent and account that still exist: otherwise the statement fails, and the batch with it.
 * The sequence is the account's highest + 1 and time never runs backwards, in the statement itself: no gap, no lock.
 */
function appendEntries(drafts: SQL): SQL {
  return sql`
    insert into audit_entries
      (pos, id, agent, permission, event, action, created_at, ip_address, user_agent, details, salt)
    select
      draft.account * ${sql.raw(String(LOG_SPAN))}
        + max(coalesce(head.pos - draft.account * ${sql.raw(String(LOG_SPAN))}, 0), coalesce(accounts.erased_sequence, 0))
        + draft.rank,
      draft.id, iif(accounts.number is null, null, agents.number), draft.permission, draft.event, draft.action,
      max(draft.at, coalesce(head.created_at, 0), coalesce(accounts.erased_at, 0)),
      draft.ip_address, draft.user_agent, draft.details, draft.salt
    from ${drafts} as draft
    left join accounts on accounts.number = draft.account
    left join permissions on permissions.account = draft.account and permissions.id = draft.permission
      and permissions.last_entry = draft.mark
    left join agents on agents.number = permissions.agent
    left join audit_entries as head on head.pos = (
      select pos from audit_entries
      where pos > draft.account * ${sql.raw(String(LOG_SPAN))} and pos < (draft.account + 1) * ${sql.raw(String(LOG_SPAN))}
      order by pos desc limit 1
    )`;
}
