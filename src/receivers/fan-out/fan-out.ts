import { enqueueMessage, enqueueMessages } from '../../outbox/enqueue';
import type { DispatchContext } from '../context';
import {
  draftFromAccount,
  draftFromEntries,
  draftFromFiles,
  draftFromPermissions,
  draftNotifications,
  eventsToStore,
} from './draft-deliveries';
import { findPendingEvents } from './pending-events';
import { loadPermissionEvents, takeSlice } from './permission-events';
import type { ReceiverRef } from './plan';
import { planNotifications } from './plan-notifications';
import { writeDeliveries } from './write-deliveries';

/** How many slices the handler of one message creates at most. */
const MAX_SLICES = 20;

/**
 * Creates the deliveries of an account's pending events, and enqueues a message for each receiver
 * that has any, but for one.
 * @returns the number of that one, to which the caller delivers itself; null if nothing is due
 */
export async function fanOut(context: DispatchContext, account: number): Promise<number | null> {
  const { shard, config } = context;
  const first = await fanOutSlice(context, account);
  const own = first.receivers.find(({ isSlow }) => !isSlow)?.number ?? null;
  const enqueue = (receivers: Iterable<ReceiverRef>) =>
    enqueueMessages(
      config.delivery,
      [...receivers]
        .filter(({ number }) => number !== own)
        .map(({ number, isSlow }) => ({ body: { shard, account, receiver: number }, isSlow })),
    );
  // The receivers of the first slice get their messages at once, the others after the last slice.
  await enqueue(first.receivers);
  const later = new Map<number, ReceiverRef>();
  let { hasMore } = first;
  for (let slice = 2; hasMore && slice <= MAX_SLICES; slice++) {
    const next = await fanOutSlice(context, account);
    for (const receiver of next.receivers) later.set(receiver.number, receiver);
    hasMore = next.hasMore;
  }
  await enqueue(later.values());
  if (hasMore) await enqueueMessage(config.delivery, { shard, account });
  return own;
}

/**
 * Creates a slice of the deliveries. It advances the account's feed (`outbox/feed.ts`) in the same
 * transaction by compare-and-set: two workers never create the same deliveries, and a crash loses
 * none.
 * @returns the receivers that have new deliveries, and whether there are more events
 */
async function fanOutSlice(
  context: DispatchContext,
  account: number,
): Promise<{ receivers: ReceiverRef[]; hasMore: boolean }> {
  const pending = await findPendingEvents(context.reader, account);
  if (!pending) return { receivers: [], hasMore: false };
  const { entries, waiting, candidates } = takeSlice(pending);
  const owner = { number: account, id: pending.accountId };
  const events = await loadPermissionEvents(context, owner, candidates);
  const fileDrafts = await draftFromFiles(context, pending);
  const channels = pending.activeReceivers.filter(({ kind }) => kind !== 'webhook');
  const plan = await planNotifications(context, account, { ...pending, channels, events });
  const deliveries = [
    ...draftFromAccount(pending),
    ...draftFromEntries(pending, entries),
    ...fileDrafts,
    ...draftFromPermissions(pending, events),
    ...draftNotifications(pending, plan),
  ];
  const hasMore = await writeDeliveries(context, account, pending, {
    deliveries,
    events: eventsToStore(events, deliveries, plan),
    held: plan.held,
    reminders: plan.reminders,
    waiting,
    position: entries.at(-1)?.pos ?? pending.position,
  });
  const numbers = new Set(deliveries.map(({ receiver }) => receiver));
  const receivers = [...pending.activeReceivers, ...plan.devices];
  return { receivers: receivers.filter(({ number }) => numbers.has(number)), hasMore };
}
