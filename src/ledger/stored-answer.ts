import { and, eq, gt, not, type SQL, sql } from 'drizzle-orm';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import { aliased } from '../db/columns';
import type { Reader } from '../db/database';
import { accounts, agents, storedAnswers } from '../db/schema';
import type { Statement } from '../db/statements';
import { DAY } from '../lib/time';
import type { Id } from '../lib/typeid';

/** How long a stored answer is replayed, in milliseconds. Later it is deleted. */
export const STORED_ANSWER_LIFETIME = DAY;

/**
 * An idempotency key and the caller who sent it, given as SQL while the caller is not known yet.
 */
export interface AnswerKey {
  /**
   * The identifier of the member, user token or agent that sent the key, or `operator`, as bytes.
   */
  principal: Uint8Array | SQL;
  /** SHA-256 of the idempotency key. */
  key: Uint8Array;
  /**
   * The number of the account whose agents the answer may be about; null for the operator's
   * answers.
   */
  account: number | SQL<number> | null;
}

/**
 * The answer to a request with an idempotency key, to be stored in the transaction of its change.
 */
export interface Answer {
  /** The result of the operation, from which the response is made. */
  value: object;
  /**
   * The agent that the answer is about, or else the account. The answer is erased together with it.
   */
  subject: Id<'agent'> | Id<'user'>;
  /**
   * Numbers and JSON that only the transaction knows, by their field in `value`: SQL that runs
   * before the change.
   */
  computed?: Record<string, SQL>;
}

/**
 * Stores the answer to one request with an idempotency key. `http/idempotency.ts` implements it.
 */
export interface AnswerStore {
  /**
   * Gives the statements that store an answer. They run before the change, in its transaction, and
   * abort it if the same key has an answer already.
   */
  store(build: DrizzleD1Database, answer: Answer): Promise<Statement[]>;
}

/**
 * The idempotency key has an answer already, which a concurrent request stored. Nothing was
 * written.
 */
export class AnsweredBefore extends Error {}

export type StoredAnswer = Pick<
  typeof storedAnswers.$inferSelect,
  'request' | 'answer' | 'computed' | 'createdAt'
>;

/**
 * Selects the answer to a key, unless it is too old, or the agent or account that it is about is
 * deleted.
 */
export function findStoredAnswer(reader: Reader, key: AnswerKey, now: number) {
  return reader
    .select({
      request: aliased(storedAnswers.request, 'stored_request'),
      answer: aliased(storedAnswers.answer, 'stored_answer'),
      computed: storedAnswers.computed,
      createdAt: aliased(storedAnswers.createdAt, 'stored_at'),
    })
    .from(storedAnswers)
    .where(and(isKey(key), isHonoured(key, now)));
}

/**
 * Gives the statements that store an answer: the first deletes an answer to this key that
 * {@link findStoredAnswer} no longer finds, the second violates the primary key if there still is
 * one.
 * @param computed see {@link Answer}
 */
export function storeAnswer(
  build: DrizzleD1Database,
  key: AnswerKey & { principal: Uint8Array },
  answer: Omit<typeof storedAnswers.$inferInsert, 'principal' | 'key' | 'computed'>,
  computed: Record<string, SQL>,
): Statement[] {
  const fields = Object.entries(computed).map(([field, value]) => sql`${field}, ${value}`);
  return [
    build.delete(storedAnswers).where(and(isKey(key), not(isHonoured(key, answer.createdAt)))),
    build.insert(storedAnswers).values({
      ...answer,
      principal: key.principal,
      key: key.key,
      computed: fields.length > 0 ? sql`json_object(${sql.join(fields, sql`, `)})` : null,
    }),
  ];
}

function isKey({ principal, key }: AnswerKey): SQL {
  return sql`${eq(storedAnswers.principal, principal)} and ${eq(storedAnswers.key, key)}`;
}

function isHonoured({ account }: AnswerKey, now: number): SQL {
  return sql`(${gt(storedAnswers.createdAt, now - STORED_ANSWER_LIFETIME)} and (
    exists (select 1 from ${agents} where ${agents.account} = ${account} and ${agents.id} = ${storedAnswers.subject})
    or exists (select 1 from ${accounts} where ${accounts.id} = ${storedAnswers.subject})
  ))`;
}
