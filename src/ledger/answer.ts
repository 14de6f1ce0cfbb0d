import type { SQL } from 'drizzle-orm';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import type { Statement } from '../db/database';
import type { Id } from '../lib/typeid';

/** What the client will be told of a change, should it be committed. */
export interface Answer {
  value: object;
  /** What it tells of, and is erased with: an agent where one is concerned, else the account. */
  subject: Id<'agent'> | Id<'user'>;
  /** Numbers in the value that only the change itself settles, as SQL that runs before it. */
  settled?: Record<string, SQL<number>>;
}

/** Stores the answer of a request that may be sent again. */
export interface AnswerKeeper {
  /**
   * Makes the statements that store the answer with the change. They run first: the last of them fails for a request
   * that was answered before, and the whole batch with it.
   */
  keep(build: DrizzleD1Database, answer: Answer): Promise<Statement[]>;
}

/** The same request was answered before, or at the same time; nothing was written. */
export class AnsweredBefore extends Error {}
