import type { Plan } from '../lib/plans';
import type { DueDelivery } from './deliveries/due';
import type { ReceiverRow } from './receiver';

/** A receiver to which one worker alone delivers until the claim expires. */
export interface ClaimedReceiver {
  /** Its lease identifies the claim. */
  receiver: ReceiverRow & { lease: Uint8Array };
  /** Decides how long audit entries are kept. */
  account: { plan: Plan; auditRetentionDays: number | null };
  /** When it was claimed, in milliseconds since the epoch. */
  claimedAt: number;
  /** The first due deliveries, in the order in which they became due. */
  due: DueDelivery[];
  /** How many receivers the account has, this one included. */
  accountReceivers: number;
}

/** The status of a URL that is gone for good (RFC 9110 section 15.5.11). */
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

/** Sends the deliveries of one claim. */
export interface Sender {
  /** How long it took to open, in milliseconds. */
  openDuration: number;
  /** Divides due deliveries into those of one message each. */
  divide: (deliveries: readonly DueDelivery[]) => DueDelivery[][];
  /** The statuses of an answer after which the receiver gets nothing more. */
  goneStatuses: readonly number[];
  /** Prepares the attempt that sends one message. */
  prepare: (deliveries: readonly DueDelivery[]) => Promise<PreparedAttempt>;
}
