import { type SQL, sql } from 'drizzle-orm';
import type { BatchResponse } from 'drizzle-orm/batch';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import type { connectionRequests } from '../db/connection-requests';
import { ConstraintError, type Database, GuardFailed } from '../db/database';
import type { permissionOutcomes } from '../db/permission-outcomes';
import type * as schema from '../db/schema';
import type { Batch, Query, Statement } from '../db/statements';
import { toHex } from '../lib/bytes';
import { type Id, idBytes } from '../lib/typeid';
import { appendEntries, roomGuards, TransitionLost, transitionGuard, writerGuard } from './append';
import { type Authority, credentialGuard } from './authority';
import type { Entry } from './entry';
import { type Guard, isGuard, withChecks } from './guard';
import { type Accounts, holdGuard } from './hold';
import { type ActivityRecord, insertRecords } from './insert-records';
import { markEntryRetention, markFeeds, markRetention, markTrees } from './marks';
import { stopGuards } from './stop';
import { type Answer, AnsweredBefore, type AnswerStore } from './stored-answer';

type Schema = typeof schema;

/** Tables that may change without an audit entry or an activity record. */
type InternalTable = Schema[
  | 'connectionCalls'
  | 'connectionReads'
  | 'deliveries'
  | 'erasedEntries'
  | 'erasures'
  | 'eventFeeds'
  | 'fileResults'
  | 'files'
  | 'heldMessages'
  | 'identities'
  | 'movedAccounts'
  | 'movedCredentials'
  | 'notificationSettings'
  | 'permissionEvents'
  | 'providerKeys'
  | 'receivers'
  | 'sendCounts'
  | 'seriesChecks'
  | 'signInChallenges'
  | 'slackLinks'
  | 'trees'
  | 'usedChallenges'];

/** Tables that an activity record describes, and the internal tables that change with them. */
type RecordTable =
  | InternalTable
  | Schema[
      | 'accounts'
      | 'agentKeys'
      | 'agents'
      | 'connections'
      | 'members'
      | 'passkeys'
      | 'policies'
      | 'reviews'
      | 'series'
      | 'sessions'
      | 'userTokens'
      | 'votes'];

/**
 * Tables that a change of permissions and tokens writes: `votes` for the vote that decides, and
 * `policies` to count an approval in a budget.
 */
type StateTable = Schema[
  | 'connectionCalls'
  | 'permissionContents'
  | 'permissions'
  | 'policies'
  | 'reviews'
  | 'series'
  | 'votes'];

type WritableTable = RecordTable | typeof permissionOutcomes | typeof connectionRequests;

/** Builds statements that insert, update and delete rows of some tables. */
export interface Writer<T> {
  insert<U extends T & WritableTable>(table: U): ReturnType<typeof build.insert<U>>;
  update<U extends T & WritableTable>(table: U): ReturnType<typeof build.update<U>>;
  delete<U extends T & WritableTable>(table: U): ReturnType<typeof build.delete<U>>;
}

/**
 * Builds the statements of {@link Ledger.change}. It cannot change permissions or tokens, except to
 * withdraw requests of connections.
 */
export type RecordWriter = Writer<RecordTable> &
  Pick<Writer<RecordTable | typeof connectionRequests>, 'update'>;

/**
 * Builds the statements of {@link Ledger.write}. It can insert and delete accounts and members, but
 * not update them. Of a permission it can update only the outcome.
 */
export type InternalWriter = Writer<InternalTable> &
  Pick<Writer<InternalTable | Schema['accounts' | 'members']>, 'insert' | 'delete'> &
  Pick<Writer<InternalTable | typeof permissionOutcomes>, 'update'>;

/**
 * Builds statements on the state of permissions and tokens. Only {@link Ledger.commit} hands one
 * out.
 */
export interface StateWriter {
  insert<U extends StateTable>(table: U): ReturnType<typeof build.insert<U>>;
  update<U extends StateTable>(table: U): ReturnType<typeof build.update<U>>;
}

/** A change of the state of permissions or tokens, and its audit entries. */
interface Transition<C extends Batch, Q extends readonly Query[]> {
  /**
   * Guarded statements, which run after the entries are appended: each matches a permission only in
   * the state before the change, and sets its `last_entry` to the sequence of the last of `entries`
   * about it (see `appendedSequence`). If a permission of `entries` then has another `last_entry`,
   * nothing is written.
   */
  changes: (write: StateWriter) => C;
  /** Conditions of the write, checked before the changes. The first that fails is the answer. */
  guards?: readonly Guard[];
  /** Queries that run after the changes, in the same transaction. */
  reads?: Q;
  entries: readonly [Entry, ...Entry[]];
  /** The answer to store if the request has an idempotency key; null for anything but a POST. */
  answer: Answer | null;
}

/** Records, guards and changes that belong into the transaction of another change. */
export interface FurtherChange {
  records: readonly ActivityRecord[];
  guards: readonly Guard[];
  changes: (write: RecordWriter) => readonly Statement[];
}

/** A change of an account's records and its activity record. */
interface RecordChange<C extends Batch> {
  record: ActivityRecord;
  /** Further records, of what the same request also did. */
  furtherRecords?: readonly ActivityRecord[];
  /** See {@link Transition}. */
  guards?: readonly Guard[];
  changes: (write: RecordWriter) => C;
  /** See {@link Transition}. */
  answer: Answer | null;
}

/** A write to internal tables. */
interface InternalWrite<C extends Batch, Q extends readonly Query[]> {
  /** See {@link Transition}. */
  guards?: readonly Guard[];
  changes: (write: InternalWriter) => C;
  /** Queries that run after the changes, in the same transaction. */
  reads?: Q;
  /** See {@link Transition}. */
  answer?: Answer;
}

/** The steps of a transaction, in their order. */
interface Steps {
  before: readonly (Guard | Statement)[];
  changes: readonly Statement[];
  after?: readonly (Guard | Statement)[];
  /** The last step, if the transaction marks event feeds as due: see `markFeeds`. */
  feedMark?: Statement;
}

/** Only for types: names what the methods of a builder return. */
declare const build: DrizzleD1Database;

/**
 * Writes to one shard. Each call is one transaction; a state change cannot be written without its
 * audit entry.
 *
 * A database that fails is a Problem `unavailable`: the transaction may have been committed
 * nevertheless.
 */
export class Ledger {
  /**
   * @param authority who writes: a credential is checked again in each transaction, except by
   *   `discardOrphans`
   * @param answers stores the answer for the idempotency key of the request; null without one
   * @param notifyReceivers called with the account's number after a commit that made its event feed
   *   due
   */
  constructor(
    private readonly database: Database,
    private readonly authority: Authority,
    private readonly answers: AnswerStore | null = null,
    private readonly notifyReceivers: ((account: number) => void) | null = null,
  ) {}

  /** The same ledger, which also stores the answer for the key of the request. */
  withAnswers(answers: AnswerStore): Ledger {
    return new Ledger(this.database, this.authority, answers, this.notifyReceivers);
  }

  /**
   * Commits a state change with its audit entries, and marks the accounts for background work.
   *
   * `receivers/handle-message.ts` describes the steps from here to a sent message.
   * @returns the results of the changes and of the reads; null if nothing was written, because a
   *   change did not match its permission, or the agent was deleted
   * @throws AccountHeld, AnsweredBefore, CredentialEnded, AccountStopped, LogFull, the error of a
   *   guard, or ConstraintError; nothing was written
   */
  async commit<const C extends Batch, const Q extends readonly Query[] = []>({
    guards = [],
    changes,
    reads,
    entries,
    answer,
  }: Transition<C, Q>): Promise<BatchResponse<readonly [...C, ...Q]> | null> {
    const { build } = this.database;
    try {
      const { changed, hasMarkedFeed } = await this.run(
        {
          before: [
            ...this.holdGuards(entries.map(({ account }) => account)),
            ...guards,
            ...this.writerGuards(entries),
            ...stopGuards(entries),
            ...roomGuards(entries),
            appendEntries(build, entries),
          ],
          changes: [...changes(build), ...(reads ?? [])],
          after: [
            transitionGuard(entries),
            markTrees(build, entries),
            markEntryRetention(build, entries),
          ],
          feedMark: markFeeds(build, entries),
        },
        answer,
      );
      if (hasMarkedFeed) this.notifyReceivers?.(entries[0].account);
      return changed as unknown as BatchResponse<readonly [...C, ...Q]>;
    } catch (error) {
      if (error instanceof TransitionLost) return null;
      throw error;
    }
  }

  /**
   * Changes an account's agents, credentials, policies, receivers, files or settings, with the
   * activity record.
   * @returns the results of the changes
   * @throws AccountHeld, AnsweredBefore, CredentialEnded, the error of a guard, or ConstraintError;
   *   nothing was written
   */
  async change<const C extends Batch>({
    record,
    furtherRecords = [],
    guards = [],
    changes,
    answer,
  }: RecordChange<C>): Promise<BatchResponse<C>> {
    const { build } = this.database;
    const { changed } = await this.run(
      {
        before: [...this.holdGuards([record.account]), ...this.credentialGuards(), ...guards],
        changes: changes(build as unknown as RecordWriter),
        // Last, because the changes may create the account of the records.
        after: [
          ...insertRecords(build, [record, ...furtherRecords]),
          markRetention(build, sql`(${record.account})`, record.createdAt),
        ],
      },
      answer,
    );
    return changed as unknown as BatchResponse<C>;
  }

  /**
   * Writes to internal tables, without an audit entry or activity record.
   * @returns the results of the changes, followed by those of the reads
   * @throws AccountHeld, AnsweredBefore, CredentialEnded, the error of a guard, or ConstraintError;
   *   nothing was written
   */
  async write<const C extends Batch, const Q extends readonly Query[] = []>({
    guards = [],
    changes,
    reads,
    answer,
  }: InternalWrite<C, Q>): Promise<BatchResponse<readonly [...C, ...Q]>> {
    const writer = this.database.build as unknown as InternalWriter;
    const { changed } = await this.run(
      {
        before: [...this.holdGuards([]), ...this.credentialGuards(), ...guards],
        changes: [...changes(writer), ...(reads ?? [])],
      },
      answer ?? null,
    );
    return changed as unknown as BatchResponse<readonly [...C, ...Q]>;
  }

  /**
   * Deletes those of the given permissions whose agent or account has been deleted. Nobody can read
   * them any more, and no entry can be written about them.
   * @throws AccountHeld
   */
  async discardOrphans(rows: { account: number; id: Id<'perm'> }[]): Promise<void> {
    const keys = JSON.stringify(rows.map(({ account, id }) => [account, toHex(idBytes(id))]));
    const { build } = this.database;
    const deletion = build.run(sql`
      delete from permissions
      where (account, id) in (select value ->> 0, unhex(value ->> 1) from json_each(${keys})) and not (
        exists (select 1 from agents where agents.number = permissions.agent)
        and exists (select 1 from accounts where accounts.number = permissions.account)
      )`);
    await this.run({ before: this.holdGuards([]), changes: [deletion] }, null);
  }

  /** The guard that no account which the write changes is held for its move to another shard. */
  private holdGuards(named: readonly (number | SQL<number>)[]): Guard[] {
    const { authority } = this;
    const own: Accounts = authority.kind === 'service' ? authority.accounts : [authority.account];
    if (own === 'all') return [holdGuard('all')];
    const accounts = [...new Set([...own, ...named])];
    return accounts.length === 0 ? [] : [holdGuard(accounts)];
  }

  /** The guard of the credential at the time of its request; none for the service itself. */
  private credentialGuards(): Guard[] {
    if (this.authority.kind === 'service') return [];
    return [credentialGuard(this.authority, this.authority.now())];
  }

  /** The guard of the credential at the time of its first entry; none for the service itself. */
  private writerGuards([{ at }]: readonly [Entry, ...Entry[]]): Guard[] {
    if (this.authority.kind === 'service') return [];
    return [writerGuard(this.authority, at)];
  }

  /**
   * Runs a transaction, which first stores the answer.
   * @returns the results of the changes, and whether `feedMark` marked a feed that was not marked
   */
  private async run(
    { before, changes, after = [], feedMark }: Steps,
    answer: Answer | null,
  ): Promise<{ changed: readonly unknown[]; hasMarkedFeed: boolean }> {
    const storing = (answer && (await this.answers?.store(this.database.build, answer))) ?? [];
    const first = [...storing, ...withChecks(before)];
    const last = feedMark === undefined ? [] : [feedMark];
    const batch = [...first, ...changes, ...withChecks(after), ...last];
    try {
      const results: readonly unknown[] = await this.database.run(batch as unknown as Batch);
      const changed = results.slice(first.length, first.length + changes.length);
      const markedFeeds = feedMark ? (results.at(-1) as D1Result).meta.changes : 0;
      return { changed, hasMarkedFeed: markedFeeds > 0 };
    } catch (error) {
      if (error instanceof GuardFailed) {
        const guards = [...before, ...after].filter(isGuard);
        throw guards.find(({ name }) => name === error.guard)?.otherwise() ?? error;
      }
      if (error instanceof ConstraintError && error.subject.startsWith('stored_answers.'))
        throw new AnsweredBefore();
      throw error;
    }
  }
}
