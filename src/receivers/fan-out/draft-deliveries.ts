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
import { planNotifications } from './plan-notifications';
import type { DeliveryDraft } from './select-drafts';
import type { SliceDraft } from './write-deliveries';

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
  const targets = activeReceivers.filter(({ events }) => events.includes(event));
  return entries.flatMap(({ pos, agent, agentId }) =>
    targets
      .filter(({ agentIds }) => agentId !== null && (agentIds?.includes(agentId) ?? true))
      .map(({ number }) => ({ webhook: number, event, about: 'entry', pos, agent }) as const),
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

export async function draftFromFiles(
  { shard, config }: DispatchContext,
  { activeReceivers, outcomes, accountId }: PendingEvents,
): Promise<DeliveryDraft[]> {
  const drafts: DeliveryDraft[] = [];
  for (const { isFailure, endedAt, ...file } of outcomes) {
    const { kind, id } = file;
    const event = FILE_EVENTS[kind][isFailure ? 'failed' : 'completed'];
    const targets = activeReceivers.filter(({ events }) => events.includes(event));
    if (targets.length === 0) continue;
    const data = await PRESENTERS[kind](
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
export async function draftFromPermissions(
  context: DispatchContext,
  account: number,
  { activeReceivers, hasDevices, disabledWebhooks, accountEvents, accountId }: PendingEvents,
  events: readonly PermissionEvent[],
): Promise<Omit<SliceDraft, 'position' | 'waiting'> & Pick<NotificationPlan, 'devices'>> {
  const drafts: DeliveryDraft[] = [];
  for (const source of events) {
    const { event, reminder, permission } = source;
    // Reminders are for people.
    if (reminder > 0) continue;
    const wants = ({ kind, events, agentIds }: ActiveReceiver) =>
      kind === 'webhook' &&
      events.includes(event) &&
      (agentIds?.includes(permission.row.agentId) ?? true);
    for (const { number } of activeReceivers.filter(wants))
      drafts.push({ webhook: number, event, about: 'permission', source });
  }
  const channels = activeReceivers.filter(({ kind }) => kind !== 'webhook');
  const notifiable = { channels, hasDevices, events, disabledWebhooks, accountEvents };
  const plan = await planNotifications(context, account, notifiable);
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
