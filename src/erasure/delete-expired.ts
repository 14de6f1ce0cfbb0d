import { type SQL, sql } from 'drizzle-orm';
import { codeOf, numberList } from '../db/columns';
import type { Batch, Database } from '../db/database';
import { STATISTICS_UNITS, webhooks } from '../db/schema';
import { SESSION_LIFETIME } from '../ledger/authority';
import { STORED_ANSWER_LIFETIME } from '../ledger/stored-answer';
import { DAY, HOUR } from '../lib/time';
import { idBytes, smallestIdAt } from '../lib/typeid';
import { DELIVERY_LIFETIME } from '../outbox/feed';
import { STORED_ANSWER_LIMIT } from './erase-agents';

/** Maximum rows that one statement deletes; stored answers have a limit of their own. */
const SLICE = 500;
/** Days of statistics that are kept: more than the longest period that a client can request. */
const DAYS_KEPT = 366;
/** The same in hours. */
const HOURS_KEPT = 722;
/** Webhooks that one slice looks at. */
const WEBHOOKS = 20;

// Each function deletes one slice, and returns whether there may be more to delete.

/** Deletes agent keys, user tokens, sessions and answered challenges that have expired. */
export function deleteExpiredCredentials(database: Database, now: number): Promise<boolean> {
  const expired = (table: 'agent_keys' | 'user_tokens') => sql`
    delete from ${sql.raw(table)} where hash in (
      select hash from ${sql.raw(table)} indexed by ${sql.raw(`${table}_by_expiry`)}
      where expires_at is not null and expires_at <= ${now} limit ${SLICE}
    )`;
  const oldSessions = sql`
    delete from sessions where hash in (
      select hash from sessions indexed by sessions_by_age where created_at <= ${now - SESSION_LIFETIME} limit ${SLICE}
    )`;
  const oldChallenges = sql`
    delete from used_challenges where (account, challenge) in (
      select account, challenge from used_challenges indexed by used_challenges_by_expiry
      where expires_at <= ${now} limit ${SLICE}
    )`;
  const oldSignIns = sql`
    delete from sign_in_challenges where challenge in (
      select challenge from sign_in_challenges indexed by sign_in_challenges_by_expiry
      where expires_at <= ${now} limit ${SLICE}
    )`;
  const deletions = [
    expired('agent_keys'),
    expired('user_tokens'),
    oldSessions,
    oldChallenges,
    oldSignIns,
  ];
  return runDeletions(database, deletions, SLICE);
}

/** Deletes stored answers that are too old to be found. */
export function deleteOldAnswers(database: Database, now: number): Promise<boolean> {
  const old = sql`
    delete from stored_answers where (principal, key) in (
      select principal, key from stored_answers indexed by stored_answers_by_age
      where created_at <= ${now - STORED_ANSWER_LIFETIME} limit ${STORED_ANSWER_LIMIT}
    )`;
  return runDeletions(database, [old], STORED_ANSWER_LIMIT);
}

/** Deletes statistics that are older than every period that a client can request. */
export function deleteOldStatistics(database: Database, now: number): Promise<boolean> {
  const before = (unit: 'day' | 'hour', bucket: number) => sql`
    delete from agent_statistics where (agent, unit, bucket) in (
      select agent, unit, bucket from agent_statistics indexed by agent_statistics_by_age
      where unit = ${codeOf(STATISTICS_UNITS, unit)} and bucket < ${bucket} limit ${SLICE}
    )`;
  const days = before('day', Math.floor(now / DAY) - DAYS_KEPT);
  const hours = before('hour', Math.floor(now / HOUR) - HOURS_KEPT);
  return runDeletions(database, [days, hours], SLICE);
}

/** Deletes counts of sent messages whose period is over. */
export function deleteOldSendCounts(database: Database, now: number): Promise<boolean> {
  const old = sql`
    delete from send_counts where key in (
      select key from send_counts indexed by send_counts_by_age where since <= ${now - DAY} limit ${SLICE}
    )`;
  return runDeletions(database, [old], SLICE);
}

/**
 * Runs deletions of at most `limit` rows each; returns whether one of them may have more to delete.
 */
async function runDeletions(database: Database, deletions: SQL[], limit: number): Promise<boolean> {
  const statements = deletions.map((deletion) => database.build.run(deletion));
  const results = (await database.run(
    statements as unknown as Batch,
  )) as readonly unknown[] as readonly D1Result[];
  return results.some(({ meta }) => meta.changes >= limit);
}

/**
 * Deletes deliveries whose lifetime is over. Delivery ids sort by time, so each webhook's oldest
 * are the first in its key.
 */
export async function deleteOldDeliveries(database: Database, now: number): Promise<boolean> {
  const { build } = database;
  const [due] = await database.load([
    database
      .select({ number: webhooks.number })
      .from(webhooks)
      .where(sql`${webhooks.eraseAt} is not null and ${webhooks.eraseAt} <= ${now}`)
      .orderBy(webhooks.eraseAt)
      .limit(WEBHOOKS),
  ]);
  if (due.length === 0) return false;
  const numbers = numberList(due.map(({ number }) => number));
  const oldest = sql`(select created_at from deliveries where webhook = webhooks.number order by id limit 1)`;
  await database.run([
    build.run(sql`delete from deliveries where (webhook, id) in (
      select webhook, id from deliveries
      where webhook in ${numbers} and id < ${idBytes(smallestIdAt('dlv', now - DELIVERY_LIFETIME + 1))} limit ${SLICE})`),
    build.run(
      sql`update webhooks set erase_at = ${oldest} + ${DELIVERY_LIFETIME} where number in ${numbers}`,
    ),
  ]);
  return true;
}
