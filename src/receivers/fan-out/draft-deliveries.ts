import { presentExport } from '../../audit/exports/export';
import type { AccountEvent, DeliveryEvent, FileKind } from '../../db/schema';
import type { PresentFile } from '../../files/presentation';
import { formatTime } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { presentReport } from '../../reports/report';
import type { DispatchContext } from '../context';
import { writePayload } from '../deliveries/payload';
import { presentWebhook } from '../webhooks/webhook';
import type { PendingEvents } from './pending-events';
import type { PermissionEvent } from './permission-events';
import type { ActiveReceiver, NotificationPlan } from './plan';
import type { DeliveryDraft } from './select-drafts';

/** The events of files that completed and of those that failed. */
const FILE_EVENTS: Record<FileKind, { completed: DeliveryEvent; failed: DeliveryEvent }> = {
  export: { completed: 'audit.export.completed', failed: 'audit.export.failed' },
  report: { completed: 'report.completed', failed: 'report.failed' },
};

/** The functions that show a file as the API does, by kind of file. */
const PRESENTERS: Record<FileKind, PresentFile<object>> = {
  export: presentExport,
  report: presentReport,
};

/** Drafts the deliveries of entries, but for those whose agent has been deleted. */
export function draftFromEntries(
  { activeReceivers }: PendingEvents,
  entries: PendingEvents['entries'],
): DeliveryDraft[] {
  const event = 'audit.created';
  const receivers = activeReceivers.filter(({ events }) => events.includes(event));
  return entries.flatMap(({ pos, agent, agentId }) =>
    receivers
      .filter(({ agentIds }) => agentId !== null && (agentIds?.includes(agentId) ?? true))
      .map(({ number }) => ({ receiver: number, event, about: 'entry', pos, agent }) as const),
  );
}

/** Drafts the deliveries of stops and resumes of the account to webhooks. */
export function draftFromAccount({ activeReceivers, accountEvents, accountId }: PendingEvents) {
  return accountEvents.flatMap((source) => {
    const { id, event, at } = source;
    const payload = writePayload(event, at, accountEventData(accountId, source));
    return activeReceivers
      .filter(({ kind, events }) => kind === 'webhook' && events.includes(event))
      .map(
        ({ number }): DeliveryDraft => ({
          receiver: number,
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

/** Drafts the deliveries of files that completed or failed. */
export async function draftFromFiles(
  { shard, config }: DispatchContext,
  { activeReceivers, finishedFiles, accountId }: PendingEvents,
): Promise<DeliveryDraft[]> {
  const drafts: DeliveryDraft[] = [];
  for (const { isFailure, endedAt, ...file } of finishedFiles) {
    const { kind, id } = file;
    const event = FILE_EVENTS[kind][isFailure ? 'failed' : 'completed'];
    const receivers = activeReceivers.filter(({ events }) => events.includes(event));
    if (receivers.length === 0) continue;
    const data = await PRESENTERS[kind](
      config,
      { shard, account: { id: accountId } },
      file,
      endedAt,
    );
    const payload = writePayload(event, endedAt, data);
    for (const { number } of receivers)
      drafts.push({ receiver: number, event, about: 'file', kind, file: id, payload });
  }
  return drafts;
}

/** Drafts the deliveries of events of permissions to webhooks. Reminders are for people only. */
export function draftFromPermissions(
  { activeReceivers }: PendingEvents,
  events: readonly PermissionEvent[],
): DeliveryDraft[] {
  return events
    .filter(({ reminder }) => reminder === 0)
    .flatMap((source) => {
      const { event, permission } = source;
      const isWanted = ({ kind, events, agentIds }: ActiveReceiver) =>
        kind === 'webhook' &&
        events.includes(event) &&
        (agentIds?.includes(permission.row.agentId) ?? true);
      return activeReceivers
        .filter(isWanted)
        .map(
          ({ number }): DeliveryDraft => ({ receiver: number, event, about: 'permission', source }),
        );
    });
}

/**
 * Drafts the deliveries of a plan: those that notify people of stops and resumes of the account, of
 * events of permissions, and of disabled webhooks.
 */
export function draftNotifications(
  { accountId }: PendingEvents,
  { messages, disabledNotices, accountNotices }: NotificationPlan,
): DeliveryDraft[] {
  return [
    ...accountNotices.map(({ channel, source, byName, ...recipient }): DeliveryDraft => {
      const { id, event, at } = source;
      const data = { ...accountEventData(accountId, source), by_name: byName };
      const payload = writePayload(event, at, data);
      return { receiver: channel, event, about: 'account', source: id, payload, ...recipient };
    }),
    ...messages.map(({ channel, source, ...recipient }): DeliveryDraft => {
      return { receiver: channel, event: source.event, about: 'permission', source, ...recipient };
    }),
    ...disabledNotices.map(({ channel, webhook, ...recipient }): DeliveryDraft => {
      const event = 'webhook.disabled';
      const payload = writePayload(event, webhook.updatedAt, presentWebhook(webhook));
      const disabled = webhook.number;
      return { receiver: channel, event, about: 'webhook', disabled, payload, ...recipient };
    }),
  ];
}

/**
 * Selects the events of permissions to store: those that a delivery or a held message sends, and
 * the requests that have a reminder.
 */
export function eventsToStore(
  events: readonly PermissionEvent[],
  deliveries: readonly DeliveryDraft[],
  { held, reminders }: NotificationPlan,
): PermissionEvent[] {
  const stored = new Set<PermissionEvent>();
  for (const delivery of deliveries)
    if (delivery.about === 'permission') stored.add(delivery.source);
  for (const { source } of held) stored.add(source);
  for (const source of events) {
    const { event, permission } = source;
    if (event === 'permission.requested' && reminders.has(permission.row.id)) stored.add(source);
  }
  return [...stored];
}
