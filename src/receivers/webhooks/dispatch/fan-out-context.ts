import type { Reader } from '../../../db/database';
import type { AccountEvent, EventNames, FileKind, PermissionEventType } from '../../../db/schema';
import type { Config } from '../../../env';
import type { PresentFile } from '../../../files/presentation';
import type { Id } from '../../../lib/typeid';
import type { WebhookRow } from '../webhook';
import type { DispatchContext } from './claim';
import type { PendingEvents } from './pending-events';

/** The services and settings that a worker uses to create deliveries. */
export interface FanOutContext extends DispatchContext {
  config: Config;
  /** The functions that show a file as the API does, by kind of file. */
  presenters: Record<FileKind, PresentFile<object>>;
  /** Reads the permissions of events. */
  loadPermissions: (
    reader: Reader,
    account: { number: number; id: Id<'user'> },
    ids: readonly Id<'perm'>[],
    now: number,
  ) => Promise<ReadonlyMap<Id<'perm'>, PermissionSnapshot>>;
  /** Plans whom channels notify of events. */
  planNotifications: (
    context: FanOutContext,
    account: number,
    notifiable: NotifiableEvents,
  ) => Promise<PlannedNotifications>;
}

export type TargetWebhook = PendingEvents['activeWebhooks'][number];

/** A webhook, channel or device for which a worker is enqueued. */
export type DeliveryTarget = Pick<TargetWebhook, 'number' | 'isSlow'>;

/** Events of which the active channels of an account may notify people. */
export interface NotifiableEvents {
  channels: readonly TargetWebhook[];
  /** Whether members of the account have devices. */
  hasDevices: boolean;
  events: readonly PermissionEvent[];
  /** Webhooks that the service disabled. */
  disabledWebhooks: readonly WebhookRow[];
  /** Stops and resumes of the account. */
  accountEvents: readonly AccountEvent[];
}

/** The recipient of a message by a channel: a member, or a Slack channel. */
export type Recipient =
  | { member: Id<'member'>; slackChannel: null }
  | { member: null; slackChannel: string };

/** The messages by which channels notify people and Slack channels of events. */
export interface PlannedNotifications {
  messages: readonly (Recipient & { channel: number; source: PermissionEvent })[];
  /** Messages to people that wait until a time, in milliseconds since the epoch. */
  held: readonly {
    channel: number;
    member: Id<'member'>;
    source: PermissionEvent;
    dueAt: number;
  }[];
  /** Messages about disabled webhooks. */
  disabledNotices: readonly (Recipient & { channel: number; webhook: WebhookRow })[];
  /** Messages about stops and resumes of the account, with the name of who did it. */
  accountNotices: readonly (Recipient & {
    channel: number;
    source: AccountEvent;
    byName: string;
  })[];
  /** When to remind those who have not voted, by permission, in milliseconds since the epoch. */
  reminders: ReadonlyMap<Id<'perm'>, number>;
  /** Devices of members, some of which have messages. */
  devices: readonly DeliveryTarget[];
}

/** An event of a permission that gets its deliveries. */
export interface PermissionEvent {
  event: PermissionEventType;
  /** Which reminder of the request this is, from 1 on; 0 for the event itself. */
  reminder: number;
  /** The position of the audit entry that it comes from; null for an escalation or a reminder. */
  pos: number | null;
  at: number;
  permission: PermissionSnapshot;
  payload: string;
}

/**
 * Whether people were asked about a permission. Nobody is where a policy decided it at once, or
 * where it belongs to a series that people gave before.
 */
export function askedPeople({ policyId, decidedBy }: PermissionSnapshot['row']): boolean {
  return policyId === null && !decidedBy?.startsWith('perm_');
}

/** A permission as its events need it. */
export interface PermissionSnapshot {
  row: {
    id: Id<'perm'>;
    agent: number;
    agentId: Id<'agent'>;
    action: string;
    status: 'pending' | 'approved' | 'denied' | 'expired';
    decidedBy: string | null;
    policyId: string | null;
    tokenStatus: string | null;
    createdAt: number;
    expiresAt: number;
  };
  shown: object;
  names: EventNames;
}
