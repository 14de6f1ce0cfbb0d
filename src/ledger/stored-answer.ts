import { and, eq, gt, not, type SQL, sql } from 'drizzle-orm';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import { aliased } from '../db/columns';
import type { Reader, Statement } from '../db/database';
import { accounts, agents, storedAnswers } from '../db/schema';
import { DAY } from '../lib/time';

/** How long the answer to an idempotency key is kept, in milliseconds. */
export const STORED_ANSWER_LIFETIME = DAY;

/** Maximum answers that one statement deletes. Each may be large. */
export const STORED_ANSWER_SLICE = 100;

/** An idempotency key and its owner, given as SQL while the caller is not known yet. */
export interface AnswerKey {
  principal: Uint8Array | SQL;
  key: Uint8Array;
  /** The number of the account whose agents the answer may be about; null for the operator's answers. */
  account: number | SQL<number> | null;
}

/** A stored answer. */
export type StoredAnswer = Pick<typeof storedAnswers.$inferSelect, 'request' | 'answer' | 'settled'>;

/** Finds the answer to a key. Answers that are too old, or whose agent or account is deleted, are not found. */
export function findStoredAnswer(reader: Reader, key: AnswerKey, now: number) {
  return reader
    .select({
      request: aliased(storedAnswers.request, 'stored_request'),
      answer: aliased(storedAnswers.answer, 'stored_answer'),
      settled: storedAnswers.settled,
    })
    .from(storedAnswers)
    .where(and(isKey(key), isHonoured(key, now)));
}

/**
 * Gives the statements that store an answer: the first deletes an answer that is no longer found, the second violates
 * the primary key if another answer is.
 */
export function storeAnswer(
  build: DrizzleD1Database,
  key: AnswerKey & { principal: Uint8Array },
  answer: Omit<typeof storedAnswers.$inferInsert, 'principal' | 'key' | 'settled'>,
  settled: Record<string, SQL<number>>,
): Statement[] {
  const numbers = Object.entries(settled).map(([field, number]) => sql`${field}, ${number}`);
  return [
    build.delete(storedAnswers).where(and(isKey(key), not(isHonoured(key, answer.createdAt)))),
    build.insert(storedAnswers).values({
      ...answer,
      principal: key.principal,
      key: key.key,
      settled: numbers.length > 0 ? sql`json_object(${sql.join(numbers, sql`, `)})` : null,
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
