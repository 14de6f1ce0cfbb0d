import { and, eq, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { DELIVERY_STATUSES, deliveries, type FailedAttempt, webhooks } from '../../db/schema';
import { toHex } from '../../lib/bytes';
import { type Id, idBytes } from '../../lib/typeid';
import { closeFeed } from '../../outbox/feed';
import { FRESH, matchesWebhook, RETRIED_BY_TIME } from '../deliveries/waiting';
import type { DispatchContext } from './context';
import { type DueDelivery, findDue } from './due';
import type { LeasedWebhook } from './lease';
import { LEASE } from './limits';

/** What a chunk of sending came to. */
export interface ChunkResult {
  results: DeliveryResult[];
  isSlow: boolean;
  failingSince: number | null;
  /** Why the webhook is to be switched off; null where it is not. */
  disabledReason: string | null;
}

/** What has become of a delivery. */
export interface DeliveryResult {
  id: Id<'dlv'>;
  status: 'pending' | 'succeeded' | 'failed';
  attempts: number;
  dueAt: number | null;
  statusCode: number | null;
  error: string | null;
  duration: number | null;
  failures: FailedAttempt[] | null;
  completedAt: number | null;
}

/**
 * Writes down what has become of deliveries and of their webhook. While more is due the lease goes on, unless `isOver`, or
 * the webhook was switched off meanwhile: what is void then is the next turn's to tidy up.
 * @returns what is due now, where the lease goes on; else when something is due next, null where nothing waits. Also
 *   null when somebody else has taken the webhook meanwhile
 */
export async function recordAttempts(
  { reader, ledger, runtime }: DispatchContext,
  { row, token }: LeasedWebhook,
  { results, isSlow, failingSince, disabledReason }: ChunkResult,
  isOver: boolean,
  limit: number,
): Promise<{ goesOn: boolean; dueAt: number | null; due: DueDelivery[] } | null> {
  const now = runtime.now();
  const isOff = disabledReason !== null;
  const hasFresh = sql`exists (select 1 from ${FRESH} ${matchesWebhook(row.number)})`;
  const nextRetry = sql`(select min(due_at) from ${RETRIED_BY_TIME} ${matchesWebhook(row.number)})`;
  const nextDue = sql`iif(has_void or ${hasFresh}, ${now}, ${nextRetry})`;
  const goesOn = isOver || isOff ? sql`0` : sql`not has_void and coalesce(${nextDue} <= ${now}, 0)`;
  const [, [held], , due] = await ledger.write({
    changes: (write) => [
      write.update(deliveries).set(RESULT_COLUMNS).from(resultRows(row.number, results)).where(isPending),
      write
        .update(webhooks)
        .set({
          isSlow,
          failingSince,
          lease: sql`iif(${goesOn}, ${token}, null)`,
          dueAt: isOff ? now : sql`iif(${goesOn}, ${now + LEASE}, ${nextDue})`,
          ...(isOff && {
            isActive: false,
            disabledReason,
            hasVoid: true,
            generation: sql`generation + 1`,
            updatedAt: now,
          }),
        })
        .where(and(eq(webhooks.number, row.number), eq(webhooks.lease, token)))
        .returning({ lease: webhooks.lease, dueAt: webhooks.dueAt }),
      closeFeed(write, row.account),
      findDue(reader, row.number, now, isOver || isOff ? 0 : limit),
    ],
  });
  return held ? { goesOn: held.lease !== null, dueAt: held.dueAt, due } : null;
}

/**
 * Writes down what has become of some deliveries, and renews the lease: others are being sent meanwhile.
 * @returns whether more may be sent: false when the webhook was switched off or deleted, or somebody else has taken it
 */
export async function writeResults(
  { ledger, runtime }: DispatchContext,
  { row, token }: LeasedWebhook,
  results: DeliveryResult[],
): Promise<boolean> {
  const [, [held]] = await ledger.write({
    changes: (write) => [
      write.update(deliveries).set(RESULT_COLUMNS).from(resultRows(row.number, results)).where(isPending),
      write
        .update(webhooks)
        .set({ dueAt: runtime.now() + LEASE })
        .where(and(eq(webhooks.number, row.number), eq(webhooks.lease, token)))
        .returning({ hasVoid: webhooks.hasVoid }),
    ],
  });
  return held !== undefined && !held.hasVoid;
}

const RESULT_COLUMNS = {
  status: sql`result.value ->> 2`,
  attempts: sql`result.value ->> 3`,
  dueAt: sql`result.value ->> 4`,
  lastStatusCode: sql`result.value ->> 5`,
  lastError: sql`result.value ->> 6`,
  duration: sql`result.value ->> 7`,
  failures: sql`result.value ->> 8`,
  completedAt: sql`result.value ->> 9`,
};

function resultRows(webhook: number, results: DeliveryResult[]): SQL {
  const rows = results.map((result) => [
    webhook,
    toHex(idBytes(result.id)),
    DELIVERY_STATUSES.indexOf(result.status),
    result.attempts,
    result.dueAt,
    result.statusCode,
    result.error,
    result.duration,
    result.failures && JSON.stringify(result.failures),
    result.completedAt,
  ]);
  return sql`json_each(${JSON.stringify(rows)}) as result`;
}

/**
 * What was settled already, or voided meanwhile, stays as it is. The webhook is named by the rows alone: given as a number,
 * SQLite would look through all of its deliveries.
 */
const isPending = and(
  eq(deliveries.webhook, sql`result.value ->> 0`),
  eq(deliveries.id, sql`unhex(result.value ->> 1)`),
  sql`${deliveries.status} = ${codeOf(DELIVERY_STATUSES, 'pending')}`,
);
