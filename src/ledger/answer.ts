import type { SQL } from 'drizzle-orm';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import type { Statement } from '../db/database';
import type { Id } from '../lib/typeid';

/** The answer to a request, to be stored when its change is committed. */
export interface Answer {
  value: object;
  /** The agent that the answer is about, or else the account. The answer is erased together with it. */
  subject: Id<'agent'> | Id<'user'>;
  /** Numbers in the value that depend on the state before the change, as SQL that runs before it. */
  settled?: Record<string, SQL<number>>;
}

/** Stores the answers to requests that have an idempotency key. */
export interface AnswerStore {
  /**
   * Gives the statements that store an answer. They run before the change, in its transaction. The last of them fails
   * if the same request was answered before, and so aborts the change.
   */
  store(build: DrizzleD1Database, answer: Answer): Promise<Statement[]>;
}

/** The same request was answered before, or is being answered by a concurrent one. Nothing was written. */
export class AnsweredBefore extends Error {}
