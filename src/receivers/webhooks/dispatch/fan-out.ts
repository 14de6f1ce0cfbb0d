import type { AccountEvent, DeliveryEvent, FileKind } from '../../../db/schema';
import { formatTime } from '../../../lib/time';
import type { Id } from '../../../lib/typeid';
import { enqueueWebhook, enqueueWebhooks } from '../../../outbox/enqueue';
import { writePayload } from '../payload';
import { presentWebhook } from '../webhook';
import type {
  DeliveryTarget,
  FanOutContext,
  PermissionEvent,
  PlannedNotifications,
  TargetWebhook,
} from './fan-out-context';
import { findPendingEvents, type PendingEvents } from './pending-events';
import { findPermissionEvents } from './permission-events';
import { type DeliveryDraft, type SliceDraft, writeDeliveries } from './write-deliveries';

/** How many slices the handler of one message creates at most. */
const MAX_SLICES = 20;

/** The events of files that completed and of those that failed. */
const FILE_EVENTS: Record<FileKind, { completed: DeliveryEvent; failed: DeliveryEvent }> = {
  export: { completed: 'audit.export.completed', failed: 'audit.export.failed' },
  report: { completed: 'report.completed', failed: 'report.failed' },
};

/**
 * Creates the deliveries of an account's pending events, and enqueues a message for each webhook
 * that has any.
 * @returns the number of a webhook that gets no message, because the caller delivers to it itself;
 *   null if there is none
 */
export async function fanOut(context: FanOutContext, account: number): Promise<number | null> {
  const { shard, config } = context;
  const first = await fanOutSlice(context, account);
  const own = first.targets.find(({ isSlow }) => !isSlow)?.number ?? null;
  const enqueue = (targets: Iterable<DeliveryTarget>) =>
    enqueueWebhooks(
      config.webhooks,
      [...targets]
        .filter(({ number }) => number !== own)
        .map(({ number, isSlow }) => ({ body: { shard, account, webhook: number }, isSlow })),
    );
  // The webhooks of the first slice get their messages at once, the others after the last slice.
  await enqueue(first.targets);
  const later = new Map<number, DeliveryTarget>();
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
  context: FanOutContext,
  account: number,
): Promise<{ targets: DeliveryTarget[]; hasMore: boolean }> {
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
  const targets = [...pending.activeWebhooks, ...devices];
  return { targets: targets.filter(({ number }) => numbers.has(number)), hasMore };
}

/** Drafts the deliveries of entries, but for those whose agent has been deleted. */
function draftFromEntries(
  { activeWebhooks }: PendingEvents,
  entries: PendingEvents['entries'],
): DeliveryDraft[] {
  const event = 'audit.created';
  const targets = activeWebhooks.filter(({ events }) => events.includes(event));
  return entries.flatMap(({ pos, agent, agentId }) =>
    targets
      .filter(({ agentIds }) => agentId !== null && (agentIds?.includes(agentId) ?? true))
      .map(({ number }) => ({ webhook: number, event, about: 'entry', pos, agent }) as const),
  );
}

/** Drafts the deliveries of stops and resumes of the account to webhooks. */
function draftFromAccount({ activeWebhooks, accountEvents, accountId }: PendingEvents) {
  return accountEvents.flatMap((source) => {
    const { id, event, at } = source;
    const payload = writePayload(event, at, accountEventData(accountId, source));
    return activeWebhooks
      .filter(({ kind, events }) => kind === 'webhook' && events.includes(event))
      .map(
        ({ number }): DeliveryDraft => ({
          webhook: number,
          event,
          about: 'account',
          source: id,
          payload,
        }),
      );
  });
}

function accountEventData(user_id: Id<'user'>, { event, at, by, reason }: AccountEvent) {
  const isStop = event === 'account.stopped';
  return { user_id, stopped: isStop ? { at: formatTime(at), by, reason } : null };
}

async function draftFromFiles(
  { shard, config, presenters }: FanOutContext,
  { activeWebhooks, outcomes, accountId }: PendingEvents,
): Promise<DeliveryDraft[]> {
  const drafts: DeliveryDraft[] = [];
  for (const { isFailure, endedAt, ...file } of outcomes) {
    const { kind, id } = file;
    const event = FILE_EVENTS[kind][isFailure ? 'failed' : 'completed'];
    const targets = activeWebhooks.filter(({ events }) => events.includes(event));
    if (targets.length === 0) continue;
    const data = await presenters[kind](
      config,
      { shard, account: { id: accountId } },
      file,
      endedAt,
    );
    const payload = writePayload(event, endedAt, data);
    for (const { number } of targets)
      drafts.push({ webhook: number, event, about: 'file', kind, file: id, payload });
  }
  return drafts;
}

/**
 * Drafts the deliveries of events of permissions, of disabled webhooks and of the account: to
 * webhooks, and to people by channels.
 */
async function draftFromPermissions(
  context: FanOutContext,
  account: number,
  { activeWebhooks, hasDevices, disabledWebhooks, accountEvents, accountId }: PendingEvents,
  events: readonly PermissionEvent[],
): Promise<Omit<SliceDraft, 'position' | 'waiting'> & Pick<PlannedNotifications, 'devices'>> {
  const drafts: DeliveryDraft[] = [];
  for (const source of events) {
    const { event, reminder, permission } = source;
    // Reminders are for people.
    if (reminder > 0) continue;
    const wants = ({ kind, events, agentIds }: TargetWebhook) =>
      kind === 'webhook' &&
      events.includes(event) &&
      (agentIds?.includes(permission.row.agentId) ?? true);
    for (const { number } of activeWebhooks.filter(wants))
      drafts.push({ webhook: number, event, about: 'permission', source });
  }
  const channels = activeWebhooks.filter(({ kind }) => kind !== 'webhook');
  const notifiable = { channels, hasDevices, events, disabledWebhooks, accountEvents };
  const plan = await context.planNotifications(context, account, notifiable);
  const { messages, held, disabledNotices, accountNotices, reminders, devices } = plan;
  for (const { channel, source, byName, ...recipient } of accountNotices) {
    const { id, event, at } = source;
    const data = { ...accountEventData(accountId, source), by_name: byName };
    const payload = writePayload(event, at, data);
    drafts.push({ webhook: channel, event, about: 'account', source: id, payload, ...recipient });
  }
  for (const { channel, source, ...recipient } of messages) {
    drafts.push({
      webhook: channel,
      event: source.event,
      about: 'permission',
      source,
      ...recipient,
    });
  }
  for (const { channel, webhook, ...recipient } of disabledNotices) {
    const event = 'webhook.disabled';
    const payload = writePayload(event, webhook.updatedAt, presentWebhook(webhook));
    drafts.push({
      webhook: channel,
      event,
      about: 'webhook',
      disabled: webhook.number,
      payload,
      ...recipient,
    });
  }
  const kept = new Set<PermissionEvent>();
  for (const draft of drafts) if (draft.about === 'permission') kept.add(draft.source);
  for (const { source } of held) kept.add(source);
  for (const source of events) {
    const { event, permission } = source;
    if (event === 'permission.requested' && reminders.has(permission.row.id)) kept.add(source);
  }
  return { deliveries: drafts, events: [...kept], held, reminders, devices };
}
