import { MINUTE } from '../../lib/time';
import { enqueueWebhook } from '../../outbox/enqueue';
import type { DispatchContext } from '../context';
import type { ClaimedWebhook } from '../target';
import { recordCanceled } from './cancel';
import { batchSize, pageSize, WORK_TIME } from './limits';
import { openTarget } from './open-target';
import { recordAttempts, recordLastBatch } from './record';
import { sendBatch, type WebhookHealth } from './send-batch';

/** Maximum delay of a queue message. For what is due later, `enqueue-due.ts` sends one in time. */
const MAX_MESSAGE_DELAY = 10 * MINUTE;

/** The rest of the work when a worker has finished with a webhook. */
interface Finished {
  isSlow: boolean;
  /** When the next delivery is due; null if there is none. */
  dueAt: number | null;
  hasSent: boolean;
}

/**
 * Delivers to a claimed webhook for some seconds, and enqueues a message for what is left.
 *
 * It delivers at least once: after a crash, attempts that were made and not recorded are made
 * again.
 */
export async function deliver(context: DispatchContext, claimed: ClaimedWebhook): Promise<void> {
  const { webhook, claimedAt, due } = claimed;
  const deadline = claimedAt + WORK_TIME;
  // The next worker cancels what is left at the deadline.
  while (
    webhook.hasCanceled &&
    context.runtime.now() < deadline &&
    (await recordCanceled(context, claimed))
  );
  const finished =
    due.length > 0 ? await sendDue(context, claimed, deadline) : await release(context, claimed);
  if (finished) await reschedule(context, claimed, finished);
}

/**
 * Sends due deliveries in batches, page by page, until none is left or the worker has to stop.
 * Records each batch while it sends the next.
 * @returns null if the webhook was deleted, reset or claimed by another worker meanwhile
 */
async function sendDue(
  context: DispatchContext,
  claimed: ClaimedWebhook,
  deadline: number,
): Promise<Finished | null> {
  const { runtime } = context;
  const target = await openTarget(context, claimed);
  const { kind } = claimed.webhook;
  let messages = target.divide(claimed.due);
  let health: WebhookHealth = claimed.webhook;
  let recording: ReturnType<typeof recordAttempts> = Promise.resolve({
    mayContinue: true,
    unrecorded: [],
  });
  for (;;) {
    const next = messages.splice(0, batchSize(health));
    const batch = await sendBatch(runtime, target, health, next, deadline);
    const { mayContinue, unrecorded } = await recording;
    const isInOtherQueue = batch.isSlow !== health.isSlow;
    const isOver =
      !mayContinue || runtime.now() >= deadline || isInOtherQueue || batch.disabledReason !== null;
    health = batch;
    if (messages.length > 0 && !isOver) {
      recording = recordAttempts(context, claimed, batch.updates);
      continue;
    }
    const last = { ...batch, updates: [...unrecorded, ...batch.updates] };
    const limit = pageSize({ kind, isSlow: batch.isSlow });
    const remaining = await recordLastBatch(context, claimed, last, isOver, limit);
    if (!remaining) return null;
    if (!remaining.due)
      return { isSlow: batch.isSlow, dueAt: remaining.dueAt, hasSent: batch.updates.length > 0 };
    messages = target.divide(remaining.due);
  }
}

/** Releases the claim of a webhook that has no due delivery. */
async function release(
  context: DispatchContext,
  claimed: ClaimedWebhook,
): Promise<Finished | null> {
  const { isSlow, failingSince } = claimed.webhook;
  const nothing = { updates: [], isSlow, failingSince, disabledReason: null };
  const remaining = await recordLastBatch(context, claimed, nothing, true, 0);
  return remaining && { isSlow, dueAt: remaining.dueAt, hasSent: false };
}

/**
 * Enqueues a message for the next delivery. A worker that sent nothing enqueues none for a later
 * time: that message is on its way already, and otherwise each message would enqueue another one.
 */
async function reschedule(
  { shard, runtime, config }: DispatchContext,
  { webhook }: ClaimedWebhook,
  { isSlow, dueAt, hasSent }: Finished,
): Promise<void> {
  if (dueAt === null) return;
  const delay = Math.max(0, dueAt - runtime.now());
  if (delay > MAX_MESSAGE_DELAY || (delay > 0 && !hasSent)) return;
  const message = { shard, account: webhook.account, webhook: webhook.number };
  await enqueueWebhook(config.webhooks, message, { isSlow, delay });
}
