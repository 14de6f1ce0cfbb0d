import { MINUTE } from '../../lib/time';
import { enqueueMessage } from '../../outbox/enqueue';
import type { DispatchContext } from '../context';
import type { ClaimedReceiver } from '../sender';
import { recordCanceled } from './cancel';
import { disableReceiver } from './disable';
import { batchSize, pageSize, WORK_TIME } from './limits';
import { openSender } from './open-sender';
import { finishPage, recordAttempts } from './record';
import { type ReceiverHealth, sendBatch } from './send-batch';

/** Maximum delay of a queue message. For what is due later, `enqueue-due.ts` sends one in time. */
const MAX_MESSAGE_DELAY = 10 * MINUTE;

/** The rest of the work when a worker has finished with a receiver. */
interface Finished {
  isSlow: boolean;
  /** When the next delivery is due; null if there is none. */
  dueAt: number | null;
  hasSent: boolean;
}

/**
 * Delivers to a claimed receiver for some seconds, and enqueues a message for what is left.
 *
 * It delivers at least once: after a crash, attempts that were made and not recorded are made
 * again.
 */
export async function deliver(context: DispatchContext, claimed: ClaimedReceiver): Promise<void> {
  const { receiver, claimedAt, due } = claimed;
  const deadline = claimedAt + WORK_TIME;
  // The next worker cancels what is left at the deadline.
  while (
    receiver.hasCanceled &&
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
 * @returns null if the receiver was deleted, reset or claimed by another worker meanwhile
 */
async function sendDue(
  context: DispatchContext,
  claimed: ClaimedReceiver,
  deadline: number,
): Promise<Finished | null> {
  const { runtime } = context;
  const sender = await openSender(context, claimed);
  const { kind } = claimed.receiver;
  let messages = sender.divide(claimed.due);
  let health: ReceiverHealth = claimed.receiver;
  let recording: ReturnType<typeof recordAttempts> = Promise.resolve({
    mayContinue: true,
    unrecorded: [],
  });
  for (;;) {
    const next = messages.splice(0, batchSize(health));
    const batch = await sendBatch(runtime, sender, health, next, deadline);
    const { mayContinue, unrecorded } = await recording;
    const isInOtherQueue = batch.isSlow !== health.isSlow;
    const isOver = !mayContinue || runtime.now() >= deadline || isInOtherQueue;
    const { isSlow, disabledReason } = batch;
    const hasSent = batch.updates.length > 0;
    health = batch;
    const last = { ...batch, updates: [...unrecorded, ...batch.updates] };
    if (disabledReason !== null) {
      const isDisabled = await disableReceiver(context, claimed, last, disabledReason);
      return isDisabled ? { isSlow, dueAt: runtime.now(), hasSent } : null;
    }
    if (messages.length > 0 && !isOver) {
      recording = recordAttempts(context, claimed, batch.updates);
      continue;
    }
    const limit = pageSize({ kind, isSlow });
    const remaining = await finishPage(context, claimed, last, { isOver, limit });
    if (!remaining) return null;
    if (!remaining.due) return { isSlow, dueAt: remaining.dueAt, hasSent };
    messages = sender.divide(remaining.due);
  }
}

/** Releases the claim of a receiver that has no due delivery. */
async function release(
  context: DispatchContext,
  claimed: ClaimedReceiver,
): Promise<Finished | null> {
  const { isSlow, failingSince } = claimed.receiver;
  const nothing = { updates: [], isSlow, failingSince };
  const remaining = await finishPage(context, claimed, nothing, {
    isOver: true,
    limit: 0,
  });
  return remaining && { isSlow, dueAt: remaining.dueAt, hasSent: false };
}

/**
 * Enqueues a message for the next delivery. A worker that sent nothing enqueues none for a later
 * time: that message is on its way already, and otherwise each message would enqueue another one.
 */
async function reschedule(
  { shard, runtime, config }: DispatchContext,
  { receiver }: ClaimedReceiver,
  { isSlow, dueAt, hasSent }: Finished,
): Promise<void> {
  if (dueAt === null) return;
  const delay = Math.max(0, dueAt - runtime.now());
  if (delay > MAX_MESSAGE_DELAY || (delay > 0 && !hasSent)) return;
  const message = { shard, account: receiver.account, receiver: receiver.number };
  await enqueueMessage(config.delivery, message, { isSlow, delay });
}
