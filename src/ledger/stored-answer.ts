import { and, eq, gt, not, type SQL, sql } from 'drizzle-orm';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import { named } from '../db/columns';
import type { Reader, Statement } from '../db/database';
import { accounts, agents, storedAnswers } from '../db/schema';
import { DAY } from '../lib/time';

/** How long an idempotency key is honoured, in milliseconds. */
export const STORED_ANSWER_LIFETIME = DAY;

/** Answers that one statement deletes: they may be large. */
export const STORED_ANSWER_SLICE = 100;

/** Whose key it is, and which. As SQL where the caller is not known yet. */
export interface AnswerKey {
  principal: Uint8Array | SQL;
  key: Uint8Array;
  /** The number of the account whose agents the answer may tell of; null for the operator's. */
  account: number | SQL<number> | null;
}

/** An answer as it is stored. */
export type StoredAnswer = Pick<typeof storedAnswers.$inferSelect, 'request' | 'answer' | 'settled'>;

/** Finds the answer that was given to a key, while it is honoured and what it tells of exists. */
export function findStoredAnswer(reader: Reader, key: AnswerKey, now: number) {
  return reader
    .select({
      request: named(storedAnswers.request, 'stored_request'),
      answer: named(storedAnswers.answer, 'stored_answer'),
      settled: storedAnswers.settled,
    })
    .from(storedAnswers)
    .where(and(isKey(key), isHonoured(key, now)));
}

/**
 * Makes the statements that store an answer. The second is refused by the schema where the key is taken; what is no
 * longer honoured makes room.
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
