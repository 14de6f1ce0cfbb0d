import type { AccountEventType, PermissionEventType } from '../../db/schema';
import type { Permission } from '../../permissions/permission';
import type { DueDelivery } from '../deliveries/due';

/** The contents of a message to people about a permission. */
export interface PermissionMessage {
  event: PermissionEventType;
  /** Whether the recipient was notified before, and has not voted since. */
  isReminder: boolean;
  /** The permission when the message was made, without input and preview. */
  permission: Permission;
  agentName: string;
  /**
   * Who decided, in words: the name of a member, or of what decided; null unless the event is a
   * decision.
   */
  decidedBy: string | null;
  /** The address of the decision card, which asks for sign-in. */
  url: string;
}

/** The contents of a message to people about a webhook that the service disabled. */
export interface DisabledWebhook {
  id: string;
  url: string;
  disabled_reason: string;
}

/** Explains the event `permission.outcome_missing` to people. */
export const MISSING_OUTCOME =
  'The program used its approval and did not report within 10 minutes what happened. The act may ' +
  'have happened, in part or not at all. Find out before it is done again.';

/** Reads what a delivery says about a permission. Its event must still be kept. */
export function readMessage(delivery: DueDelivery, publicUrl: string): PermissionMessage {
  const { event, reminder, names } = delivery;
  const permission = readPermission(delivery);
  return {
    event: event as PermissionEventType,
    isReminder: reminder !== null,
    permission,
    agentName: names?.agent ?? permission.agent_id,
    decidedBy: names?.decidedBy ?? null,
    url: cardUrl(publicUrl, permission.id),
  };
}

/**
 * Reads the permission that a delivery is about, as it was at the event. The event must still be
 * kept.
 */
export function readPermission({ eventPayload }: Pick<DueDelivery, 'eventPayload'>): Permission {
  const { data }: { data: Permission } = JSON.parse(eventPayload ?? '');
  return data;
}

/** The address of the decision card of a permission. */
export function cardUrl(publicUrl: string, permission: string): string {
  return `${publicUrl}/console/permissions/${permission}`;
}

/** Reads what a delivery says about a disabled webhook. */
export function readDisabledWebhook({ payload }: DueDelivery): DisabledWebhook {
  const { data }: { data: DisabledWebhook } = JSON.parse(payload ?? '');
  return data;
}

/** The contents of a message to people about a stop or resume of the account. */
export interface AccountMessage {
  event: AccountEventType;
  /** When it happened, as the API writes times. */
  at: string;
  /** Who did it, in words. */
  by: string;
  /** Why it was stopped; null for no reason, and for a resume. */
  reason: string | null;
}

/** The effects of a stop and of a resume, for people. */
export const ACCOUNT_EFFECTS: Record<AccountMessage['event'], string> = {
  'account.stopped':
    'Until somebody resumes the account, nothing is requested, approved or used. Denials and ' +
    'revocations still work. A program that checks tokens offline may still accept one.',
  'account.resumed':
    'The account was resumed. Approvals from before the stop that have not expired are valid again. ' +
    'Revoke those that should not be.',
};

/** Reads what a delivery says about a stop or resume of the account. */
export function readAccountMessage({ payload }: DueDelivery): AccountMessage {
  const { event, timestamp, data } = JSON.parse(payload ?? '');
  return {
    event,
    at: timestamp,
    by: data.by_name,
    reason: data.stopped?.reason ?? null,
  };
}
