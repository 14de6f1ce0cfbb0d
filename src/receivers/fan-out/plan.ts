import type { AccountEvent } from '../../db/schema';
import type { Id } from '../../lib/typeid';
import type { ReceiverRow } from '../receiver';
import type { PendingEvents } from './pending-events';
import type { PermissionEvent } from './permission-events';

/** An active webhook or channel of the account. */
export type ActiveReceiver = PendingEvents['activeReceivers'][number];

/** A receiver by its number, with what decides in which queue its messages wait. */
export type ReceiverRef = Pick<ActiveReceiver, 'number' | 'isSlow'>;

/** The events that are sent to people, by channels of the account or to devices of its members. */
export interface NotifiableEvents {
  channels: readonly ActiveReceiver[];
  /** Whether members of the account have devices. */
  hasDevices: boolean;
  events: readonly PermissionEvent[];
  /** Webhooks that the service disabled. */
  disabledWebhooks: readonly ReceiverRow[];
  /** Stops and resumes of the account. */
  accountEvents: readonly AccountEvent[];
}

/** The recipient of a message by a channel: a member, or a Slack channel. */
export type Recipient =
  | { member: Id<'member'>; slackChannel: null }
  | { member: null; slackChannel: string };

/** The messages by which channels notify people and Slack channels of events. */
export interface NotificationPlan {
  messages: (Recipient & { channel: number; source: PermissionEvent })[];
  /** Messages to people that wait until a time, in milliseconds since the epoch. */
  held: {
    channel: number;
    member: Id<'member'>;
    source: PermissionEvent;
    dueAt: number;
  }[];
  /** Messages about disabled webhooks. */
  disabledNotices: (Recipient & { channel: number; webhook: ReceiverRow })[];
  /** Messages about stops and resumes of the account, with the name of who did it. */
  accountNotices: (Recipient & {
    channel: number;
    source: AccountEvent;
    byName: string;
  })[];
  /** When to remind those who have not voted, by permission, in milliseconds since the epoch. */
  reminders: Map<Id<'perm'>, number>;
  /** Devices of members. Some have messages, others have none. */
  devices: ReceiverRef[];
}
