import { sql } from 'drizzle-orm';
import type { BatchResponse } from 'drizzle-orm/batch';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import { type Batch, ConstraintError, type Database, type Statement } from '../db/database';
import type {
  accounts,
  agentKeys,
  agents,
  deliveries,
  erasedEntries,
  erasures,
  fileOutcomes,
  files,
  identities,
  movedAccounts,
  movedCredentials,
  permissions,
  policies,
  providerKeys,
  trees,
  userTokens,
  webhookFeeds,
  webhooks,
} from '../db/schema';
import { activity } from '../db/schema';
import { toHex } from '../lib/bytes';
import { type Id, idBytes } from '../lib/typeid';
import type { ActivityRecord } from './activity-record';
import { type Answer, AnsweredBefore, type AnswerKeeper } from './answer';
import { appendEntries, draftRows, LogFull } from './append';
import { type Authority, CredentialEnded, guardCredential } from './authority';
import { countEvents } from './count-events';
import type { Entry } from './entry';
import { accountsOf, markFeeds, markRetention, markTrees } from './marks';

/** Tables of records about the account, which change without an audit entry. */
type RecordTable =
  | typeof accounts
  | typeof userTokens
  | typeof agents
  | typeof agentKeys
  | typeof policies
  | typeof files
  | typeof erasures
  | typeof trees
  | typeof erasedEntries
  | typeof webhooks
  | typeof webhookFeeds
  | typeof fileOutcomes
  | typeof deliveries
  | typeof identities
  | typeof movedAccounts
  | typeof movedCredentials
  | typeof providerKeys;

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
  /** What the client is told when it is committed; null where no request waits, or one that is safe to send again. */
  answer: Answer | null;
}

/** A change of records of the account, and the note of it. */
export interface RecordChange<C extends Batch> {
  /** Null only where the account itself goes, and its notes with it, or where the service acts by itself. */
  note: ActivityRecord | null;
  changes: (write: RecordWriter) => C;
  /** As of a {@link Transition}. */
  answer: Answer | null;
}

declare const build: DrizzleD1Database;

/** The columns whose NOT NULL refuses a credential that has ended: see `appendEntries` and `guardCredential`. */
const CREDENTIAL_ENDED = ['audit_entries.id', 'guards.condition'];

/** The one road to a change of the database: nothing changes state without its entry in the audit log. */
export class Ledger {
  /**
   * @param authority by which everything is written: a credential is checked again in each transaction
   * @param keeper stores the answer with the change, for a request that may be sent again
   * @param announce is called when the account with this number has new entries that webhooks wait for
   */
  constructor(
    private readonly database: Database,
    private readonly authority: Authority,
    private readonly keeper: AnswerKeeper | null = null,
    private readonly announce: ((account: number) => void) | null = null,
  ) {}

  /**
   * Commits a state change together with its audit entries and counters, in one transaction.
   * @returns the answers of the changes, or null when the transition lost: a guard matched nothing, and nothing at all
   *   was written
   * @throws AnsweredBefore; CredentialEnded; LogFull
   */
  async commit<const C extends Batch>(transition: Transition<C>): Promise<BatchResponse<C> | null> {
    const changes: readonly Statement[] = transition.changes(this.database.build);
    const drafts = draftRows(transition.entries);
    const { build } = this.database;
    try {
      const statements = [
        ...changes,
        build.run(appendEntries(drafts, this.authority)),
        build.run(countEvents(drafts)),
        markTrees(build, transition.entries),
        markRetention(build, accountsOf(transition.entries), transition.entries[0].at),
        markFeeds(build, transition.entries),
      ];
      const results = await this.run(statements, transition.answer);
      const { meta } = results.at(-1) as D1Result;
      if (meta.changes > 0) this.announce?.(transition.entries[0].account);
      return results.slice(0, changes.length) as unknown as BatchResponse<C>;
    } catch (error) {
      if (error instanceof ConstraintError && error.kind === 'not null' && error.subject.endsWith('.agent'))
        return null;
      throw error;
    }
  }

  /**
   * Erases permissions whose agent or account is gone. They are on their way out already, can be read by nobody, and
   * have nowhere to write an entry.
   */
  async discardOrphans(rows: { account: number; id: Id<'perm'> }[]): Promise<void> {
    const keys = JSON.stringify(rows.map(({ account, id }) => [account, toHex(idBytes(id))]));
    await this.database.run([
      this.database.build.run(sql`
        delete from permissions
        where (account, id) in (select value ->> 0, unhex(value ->> 1) from json_each(${keys})) and not (
          exists (select 1 from agents where agents.number = permissions.agent)
          and exists (select 1 from accounts where accounts.number = permissions.account)
        )`),
    ]);
  }

  /**
   * Changes records of the account (agents, credentials, policies, settings) and notes it, in one transaction.
   * @throws ConstraintError when what was to be changed is not there: nothing is written; AnsweredBefore; CredentialEnded
   */
  async change<const C extends Batch>({ note, changes, answer }: RecordChange<C>): Promise<BatchResponse<C>> {
    const { build } = this.database;
    const statements: readonly Statement[] = changes(build as unknown as RecordWriter);
    const guard = this.authority.kind === 'service' ? [] : [build.run(guardCredential(this.authority))];
    if (!note) {
      const results = await this.run([...guard, ...statements], answer);
      return results.slice(guard.length) as unknown as BatchResponse<C>;
    }
    const record = [
      build.insert(activity).values(note),
      markRetention(build, sql`(${note.account})`, note.createdAt),
    ] as const;
    // A change or deletion is noted while its target is as it was found, a creation once it is there.
    const isCreation = note.action.endsWith('.created');
    const batch = isCreation ? [...statements, ...record] : [...record, ...statements];
    const results = await this.run([...guard, ...batch], answer);
    const first = guard.length + (isCreation ? 0 : record.length);
    return results.slice(first, first + statements.length) as unknown as BatchResponse<C>;
  }

  /** Runs the statements of a change, and stores its answer in the same transaction. */
  private async run(statements: readonly Statement[], answer: Answer | null): Promise<readonly unknown[]> {
    const keeping = (answer && (await this.keeper?.keep(this.database.build, answer))) ?? [];
    try {
      const results: readonly unknown[] = await this.database.run([...keeping, ...statements] as unknown as Batch);
      return results.slice(keeping.length);
    } catch (error) {
      if (!(error instanceof ConstraintError)) throw error;
      if (error.subject.startsWith('stored_answers.')) throw new AnsweredBefore();
      if (error.subject === 'audit_entries.action') throw new LogFull();
      throw CREDENTIAL_ENDED.includes(error.subject) ? new CredentialEnded() : error;
    }
  }
}
