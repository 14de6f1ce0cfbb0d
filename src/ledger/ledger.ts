import { sql } from 'drizzle-orm';
import type { BatchResponse } from 'drizzle-orm/batch';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import { type Batch, ConstraintError, type Database, type Query, type Statement } from '../db/database';
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
import { type Answer, AnsweredBefore, type AnswerStore } from './answer';
import { appendEntries, draftRows, LogFull } from './append';
import { type Authority, CredentialEnded, guardCredential } from './authority';
import { countEvents } from './count-events';
import type { Entry } from './entry';
import { accountsOf, markFeeds, markRetention, markTrees } from './marks';

/** Tables of the service's own bookkeeping. A write to them has neither an audit entry nor an activity record. */
type InternalTable =
  | typeof deliveries
  | typeof erasedEntries
  | typeof erasures
  | typeof fileOutcomes
  | typeof files
  | typeof identities
  | typeof movedAccounts
  | typeof movedCredentials
  | typeof providerKeys
  | typeof trees
  | typeof webhookFeeds
  | typeof webhooks;

/** Tables that an activity record describes, and the internal tables that change with them. */
type RecordTable =
  | InternalTable
  | typeof accounts
  | typeof agentKeys
  | typeof agents
  | typeof policies
  | typeof userTokens;

/** Builds statements that insert, update and delete rows of some tables. */
interface Writer<T> {
  insert<U extends T & RecordTable>(table: U): ReturnType<typeof build.insert<U>>;
  update<U extends T & RecordTable>(table: U): ReturnType<typeof build.update<U>>;
  delete<U extends T & RecordTable>(table: U): ReturnType<typeof build.delete<U>>;
}

/** Builds statements on records of an account. It cannot reach the state of permissions and tokens. */
export type RecordWriter = Writer<RecordTable>;

/** Builds statements on the service's own bookkeeping. An account can be created and deleted, but not changed. */
export type InternalWriter = Writer<InternalTable> & Pick<Writer<InternalTable | typeof accounts>, 'insert' | 'delete'>;

/** Builds statements on the state of permissions and tokens. Only {@link Ledger.commit} hands one out. */
export interface StateWriter {
  insert(table: typeof permissions): ReturnType<typeof build.insert<typeof permissions>>;
  update(table: typeof permissions): ReturnType<typeof build.update<typeof permissions>>;
}

/** A state change and its audit entries. */
export interface Transition<C extends Batch> {
  /**
   * Guarded statements: each matches a row only in the state that it leaves, and sets the row's `last_entry` to the
   * last of the row's entries. An entry whose row does not name it aborts the whole transition.
   */
  changes: (write: StateWriter) => C;
  entries: readonly [Entry, ...Entry[]];
  /** The answer to store for a retry with the same idempotency key; null for anything but a POST. */
  answer: Answer | null;
}

/** A change of an account's records and its activity record. */
export interface RecordChange<C extends Batch> {
  record: ActivityRecord;
  changes: (write: RecordWriter) => C;
  /** See {@link Transition}. */
  answer: Answer | null;
}

/** A write to internal tables. */
export interface InternalWrite<C extends Batch, Q extends readonly Query[]> {
  changes: (write: InternalWriter) => C;
  /** Queries that run after the changes, in the same transaction. */
  reads?: Q;
  /** See {@link Transition}. */
  answer?: Answer;
}

declare const build: DrizzleD1Database;

/**
 * Columns whose NOT NULL constraint fails for a credential that has ended: see `appendEntries` and `guardCredential`.
 */
const CREDENTIAL_ENDED = ['audit_entries.id', 'guards.condition'];

/** Writes to one shard. Each method is one transaction; a state change cannot be written without its audit entry. */
export class Ledger {
  /**
   * @param authority who writes: a credential is checked again in each transaction
   * @param answers stores answers for idempotency keys
   * @param announce called with an account's number when its log has new entries and its webhooks wait for them
   */
  constructor(
    private readonly database: Database,
    private readonly authority: Authority,
    private readonly answers: AnswerStore | null = null,
    private readonly announce: ((account: number) => void) | null = null,
  ) {}

  /**
   * Commits a state change together with its audit entries, counters and marks.
   *
   * `webhooks/dispatch/deliver.ts` describes the way of the entries from here to a delivered webhook.
   * @returns the results of the changes, or null if the transition lost: a guard matched no row, and nothing was
   *   written
   * @throws AnsweredBefore, CredentialEnded or LogFull; nothing was written
   */
  async commit<const C extends Batch>({ changes, entries, answer }: Transition<C>): Promise<BatchResponse<C> | null> {
    const { build } = this.database;
    const statements: readonly Statement[] = changes(build);
    const drafts = draftRows(entries);
    try {
      const results = await this.run(
        [
          ...statements,
          build.run(appendEntries(drafts, this.authority)),
          build.run(countEvents(drafts)),
          markTrees(build, entries),
          markRetention(build, accountsOf(entries), entries[0].at),
          markFeeds(build, entries),
        ],
        answer,
      );
      const { meta: feeds } = results.at(-1) as D1Result;
      if (feeds.changes > 0) this.announce?.(entries[0].account);
      return results.slice(0, statements.length) as unknown as BatchResponse<C>;
    } catch (error) {
      const isLost = error instanceof ConstraintError && error.kind === 'not null' && error.subject.endsWith('.agent');
      if (isLost) return null;
      throw error;
    }
  }

  /**
   * Changes an account's agents, credentials, policies, webhooks or settings, together with the activity record.
   * @throws ConstraintError if the target does not exist, AnsweredBefore or CredentialEnded; nothing was written
   */
  async change<const C extends Batch>({ record, changes, answer }: RecordChange<C>): Promise<BatchResponse<C>> {
    const { build } = this.database;
    const statements: readonly Statement[] = changes(build as unknown as RecordWriter);
    const recording = [
      build.insert(activity).values(record),
      markRetention(build, sql`(${record.account})`, record.createdAt),
    ];
    // The record's account is looked up by the target: after a creation, before a change or a deletion.
    const isCreation = record.action.endsWith('.created');
    const first = isCreation ? 0 : recording.length;
    const batch = isCreation ? [...statements, ...recording] : [...recording, ...statements];
    const results = await this.runGuarded(batch, answer);
    return results.slice(first, first + statements.length) as unknown as BatchResponse<C>;
  }

  /**
   * Writes to internal tables, which have neither audit entries nor activity records.
   * @returns the results of the changes, followed by those of the reads
   * @throws ConstraintError, AnsweredBefore or CredentialEnded; nothing was written
   */
  async write<const C extends Batch, const Q extends readonly Query[] = []>({
    changes,
    reads,
    answer,
  }: InternalWrite<C, Q>): Promise<BatchResponse<readonly [...C, ...Q]>> {
    const statements: readonly Statement[] = changes(this.database.build as unknown as InternalWriter);
    const results = await this.runGuarded([...statements, ...(reads ?? [])], answer ?? null);
    return results as unknown as BatchResponse<readonly [...C, ...Q]>;
  }

  /**
   * Deletes permissions whose agent or account has been deleted. Nobody can read them, and there is no log for an entry
   * of them any more.
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

  /** Runs statements that append no audit entry: a guard checks the credential in their place. */
  private async runGuarded(statements: readonly Statement[], answer: Answer | null): Promise<readonly unknown[]> {
    if (this.authority.kind === 'service') return this.run(statements, answer);
    const guard = this.database.build.run(guardCredential(this.authority));
    return (await this.run([guard, ...statements], answer)).slice(1);
  }

  /** Runs statements, and stores the answer in the same transaction. */
  private async run(statements: readonly Statement[], answer: Answer | null): Promise<readonly unknown[]> {
    const keeping = (answer && (await this.answers?.store(this.database.build, answer))) ?? [];
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
