import { enqueueWebhook, enqueueWebhooks } from '../../outbox/enqueue';
import type { DispatchContext } from '../context';
import {
  draftFromAccount,
  draftFromEntries,
  draftFromFiles,
  draftFromPermissions,
} from './draft-deliveries';
import { findPendingEvents } from './pending-events';
import { findPermissionEvents } from './permission-events';
import type { ReceiverRef } from './plan';
import { type SliceDraft, writeDeliveries } from './write-deliveries';

/** How many slices the handler of one message creates at most. */
const MAX_SLICES = 20;

/**
 * Creates the deliveries of an account's pending events, and enqueues a message for each webhook
 * that has any.
 * @returns the number of a webhook that gets no message, because the caller delivers to it itself;
 *   null if there is none
 */
export async function fanOut(context: DispatchContext, account: number): Promise<number | null> {
  const { shard, config } = context;
  const first = await fanOutSlice(context, account);
  const own = first.targets.find(({ isSlow }) => !isSlow)?.number ?? null;
  const enqueue = (targets: Iterable<ReceiverRef>) =>
    enqueueWebhooks(
      config.webhooks,
      [...targets]
        .filter(({ number }) => number !== own)
        .map(({ number, isSlow }) => ({ body: { shard, account, webhook: number }, isSlow })),
    );
  // The webhooks of the first slice get their messages at once, the others after the last slice.
  await enqueue(first.targets);
  const later = new Map<number, ReceiverRef>();
  let { hasMore } = first;
  for (let slice = 2; hasMore && slice <= MAX_SLICES; slice++) {
    const next = await fanOutSlice(context, account);
    for (const target of next.targets) later.set(target.number, target);
    hasMore = next.hasMore;
  }
  await enqueue(later.values());
  if (hasMore) await enqueueWebhook(config.webhooks, { shard, account });
  return own;
}

/**
 * Creates a slice of the deliveries. It advances the account's feed (`outbox/feed.ts`) in the same
 * transaction by compare-and-set: two workers never create the same deliveries, and a crash loses
 * none.
 * @returns the webhooks, channels and devices that have new deliveries, and whether there are more events
 */
async function fanOutSlice(
  context: DispatchContext,
  account: number,
): Promise<{ targets: ReceiverRef[]; hasMore: boolean }> {
  const pending = await findPendingEvents(context.reader, account);
  if (!pending) return { targets: [], hasMore: false };
  const { events, entries, waiting } = await findPermissionEvents(context, account, pending);
  const ofFiles = await draftFromFiles(context, pending);
  const { devices, ...ofPermissions } = await draftFromPermissions(
    context,
    account,
    pending,
    events,
  );
  const draft: SliceDraft = {
    ...ofPermissions,
    waiting,
    deliveries: [
      ...draftFromAccount(pending),
      ...draftFromEntries(pending, entries),
      ...ofFiles,
      ...ofPermissions.deliveries,
    ],
    position: entries.at(-1)?.pos ?? pending.position,
  };
  const hasMore = await writeDeliveries(context, account, pending, draft);
  const numbers = new Set(draft.deliveries.map(({ webhook }) => webhook));
  const targets = [...pending.activeReceivers, ...devices];
  return { targets: targets.filter(({ number }) => numbers.has(number)), hasMore };
}
