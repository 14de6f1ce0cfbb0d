import { and, eq, isNotNull, lt, lte, type SQL, sql } from 'drizzle-orm';
import { numberList } from '../db/columns';
import type { Database } from '../db/database';
import {
  agentKeys,
  agentStatistics,
  connectionReads,
  deliveries,
  receivers,
  sendCounts,
  sessions,
  signInChallenges,
  storedAnswers,
  usedChallenges,
  userTokens,
} from '../db/schema';
import { SESSION_LIFETIME } from '../ledger/authority';
import { isNotMoving, movingGuard } from '../ledger/hold';
import { STORED_ANSWER_LIFETIME } from '../ledger/stored-answer';
import { DAY } from '../lib/time';
import { smallestIdAt } from '../lib/typeid';
import { DELIVERY_LIFETIME } from '../outbox/feed';
import { deleteRows } from './delete-rows';
import { STORED_ANSWER_LIMIT } from './erase-agents';
import { runErasure } from './run-erasure';

/** Maximum rows that one statement deletes; stored answers have a limit of their own. */
const SLICE = 500;
/** Days of statistics that are kept: more than the longest period that a client can request. */
const DAYS_KEPT = 366;
/** Receivers that one slice looks at. */
const RECEIVERS = 20;

// Each function deletes one slice, and returns whether there may be more to delete.

/** Deletes agent keys, user tokens, sessions and answered challenges that have expired. */
export function deleteExpiredCredentials(database: Database, now: number): Promise<boolean> {
  const expired = (table: typeof agentKeys | typeof userTokens, index: string) =>
    deleteRows(table, {
      where: and(isNotNull(table.expiresAt), lte(table.expiresAt, now)),
      limit: SLICE,
      index,
    });
  const deletions = [
    expired(agentKeys, 'agent_keys_by_expiry'),
    expired(userTokens, 'user_tokens_by_expiry'),
    deleteRows(sessions, {
      where: lte(sessions.createdAt, now - SESSION_LIFETIME),
      limit: SLICE,
      index: 'sessions_by_age',
    }),
    deleteRows(usedChallenges, {
      where: lte(usedChallenges.expiresAt, now),
      limit: SLICE,
      index: 'used_challenges_by_expiry',
    }),
    deleteRows(signInChallenges, {
      where: lte(signInChallenges.expiresAt, now),
      limit: SLICE,
      index: 'sign_in_challenges_by_expiry',
    }),
  ];
  return runDeletions(database, deletions, SLICE);
}

/** Deletes stored answers that are too old to be found. */
export function deleteOldAnswers(database: Database, now: number): Promise<boolean> {
  const old = deleteRows(storedAnswers, {
    where: lte(storedAnswers.createdAt, now - STORED_ANSWER_LIFETIME),
    limit: STORED_ANSWER_LIMIT,
    index: 'stored_answers_by_age',
  });
  return runDeletions(database, [old], STORED_ANSWER_LIMIT);
}

/**
 * Deletes statistics and counted reads of connections that are older than every period that a
 * client can request. By then statistics are folded into days.
 */
export function deleteOldStatistics(database: Database, now: number): Promise<boolean> {
  const firstKept = Math.floor(now / DAY) - DAYS_KEPT;
  const old = deleteRows(agentStatistics, {
    where: and(eq(agentStatistics.unit, 'day'), lt(agentStatistics.bucket, firstKept)),
    limit: SLICE,
    index: 'agent_statistics_by_age',
  });
  const oldReads = deleteRows(connectionReads, {
    where: lt(connectionReads.day, firstKept),
    limit: SLICE,
    index: 'connection_reads_by_age',
  });
  return runDeletions(database, [old, oldReads], SLICE);
}

/** Deletes counts of sent messages whose period is over. */
export function deleteOldSendCounts(database: Database, now: number): Promise<boolean> {
  const old = deleteRows(sendCounts, {
    where: lte(sendCounts.since, now - DAY),
    limit: SLICE,
    index: 'send_counts_by_age',
  });
  return runDeletions(database, [old], SLICE);
}

/**
 * Runs deletions of at most `limit` rows each; returns whether one of them may have more to delete.
 */
async function runDeletions(database: Database, deletions: SQL[], limit: number): Promise<boolean> {
  const statements = deletions.map((deletion) => database.build.run(deletion));
  const results = await runErasure(database, statements);
  return results.some(({ meta }) => meta.changes >= limit);
}

/**
 * Deletes deliveries whose lifetime is over. Delivery ids sort by time, so each receiver's oldest
 * are the first in its key.
 */
export async function deleteOldDeliveries(database: Database, now: number): Promise<boolean> {
  const { build } = database;
  const [due] = await database.load([
    database
      .select({ number: receivers.number, account: receivers.account })
      .from(receivers)
      .where(
        sql`${receivers.eraseAt} is not null and ${receivers.eraseAt} <= ${now}
          and ${isNotMoving(receivers.account)}`,
      )
      .orderBy(receivers.eraseAt)
      .limit(RECEIVERS),
  ]);
  if (due.length === 0) return false;
  const numbers = numberList(due.map(({ number }) => number));
  const isOld = and(
    sql`${deliveries.receiver} in ${numbers}`,
    lt(deliveries.id, smallestIdAt('dlv', now - DELIVERY_LIFETIME + 1)),
  );
  const oldest = sql`(
    select ${deliveries.createdAt} from ${deliveries}
    where ${deliveries.receiver} = ${receivers.number} order by ${deliveries.id} limit 1
  )`;
  const statements = [
    build.run(deleteRows(deliveries, { where: isOld, limit: SLICE })),
    build
      .update(receivers)
      .set({ eraseAt: sql`${oldest} + ${DELIVERY_LIFETIME}` })
      .where(sql`${receivers.number} in ${numbers}`),
  ];
  const owners = numberList(new Set(due.map(({ account }) => account)));
  await runErasure(database, statements, movingGuard(owners));
  return true;
}
