import type { Plan } from '../lib/plans';
import type { DueDelivery } from './deliveries/due';
import type { WebhookRow } from './receiver';

/** A webhook, channel or device to which one worker alone delivers until the claim expires. */
export interface ClaimedWebhook {
  /** Its lease identifies the claim. */
  webhook: WebhookRow & { lease: Uint8Array };
  /** Decides how long audit entries are kept. */
  account: { plan: Plan; auditRetentionDays: number | null };
  /** When it was claimed, in milliseconds since the epoch. */
  claimedAt: number;
  /** The first due deliveries, in the order in which they became due. */
  due: DueDelivery[];
  /** How many webhooks the account has, this one included. */
  accountWebhooks: number;
}

/** The status of a receiver that is gone (RFC 9110 section 15.5.11). */
export const GONE = 410;

export const NOT_KEPT = 'The audit entry or the permission is no longer kept.';

/** A request that sends a message. */
export interface RequestAttempt {
  url: string;
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer>;
  /**
   * Decides from an answer whether the attempt failed, and why. Without it, the status decides:
   * `error` says so, and is null for a success.
   */
  judge?: (answer: { status: number; error: string | null; text: string }) => {
    error: string | null;
    /** Where the message is in Slack; null if it was not posted there. */
    slackMessage: string | null;
  };
}

/**
 * An attempt that is ready to be made, or that fails without one. It sends one message, usually for
 * one delivery. Several requests are made at the same time; if one of them fails, the attempt has
 * failed, and the next makes all of them again.
 */
export type PreparedAttempt =
  | { kind: 'requests'; requests: readonly RequestAttempt[] }
  /** A call of a binding of the Worker, which throws if the message is not sent. */
  | { kind: 'call'; call: () => Promise<void> }
  /** Nothing may be sent: the attempt fails with this error, and is retried later. */
  | { kind: 'refused'; error: string }
  /** There is nothing to send any more: the deliveries fail without an attempt. */
  | { kind: 'dropped'; reason: string }
  /**
   * The recipient got too many messages: the deliveries wait until a time, in milliseconds since
   * the epoch.
   */
  | { kind: 'postponed'; until: number; reason: string };

/** How a worker sends the deliveries of one claim. */
export interface Target {
  /** Milliseconds that it took to open the target. */
  delay: number;
  /** Divides due deliveries into those of one message each. */
  divide: (deliveries: readonly DueDelivery[]) => DueDelivery[][];
  /** The statuses of an answer that mean that the receiver is gone: it gets nothing more. */
  gone: readonly number[];
  /** Prepares the attempt that sends one message. */
  prepare: (deliveries: readonly DueDelivery[]) => Promise<PreparedAttempt>;
}
