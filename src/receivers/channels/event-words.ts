import { isWithdrawn, type Permission } from '../../permissions/permission';
import type { PermissionMessage } from './message';

/** The words for the outcome of an act whose program did not report it. */
export const OUTCOME_UNKNOWN = 'Outcome unknown';

/** Whether a message says that an outcome was not reported. */
export function isOutcomeMissing({ event }: Pick<PermissionMessage, 'event'>): boolean {
  return event === 'permission.outcome_missing';
}

/** How a request ended, in one word; null while it waits. */
export function endWord(permission: Permission): string | null {
  if (permission.status === 'approved') return 'Approved';
  if (permission.status === 'denied') return 'Denied';
  if (permission.status === 'pending') return null;
  return isWithdrawn(permission) ? 'Withdrawn' : 'Expired';
}

/** Names the event of a message: the heading of a mail, and the label of a shorter message. */
export function wordsOf({ event, isReminder, permission }: PermissionMessage): {
  heading: string;
  label: string;
} {
  const end = isOutcomeMissing({ event }) ? OUTCOME_UNKNOWN : endWord(permission);
  if (end !== null) return { heading: end, label: end };
  if (isReminder) {
    return {
      heading: 'Reminder: an agent waits for your decision',
      label: 'Reminder: decision needed',
    };
  }
  if (event === 'permission.escalated') {
    return { heading: 'A request was escalated to you', label: 'Escalated, decision needed' };
  }
  return { heading: 'An agent asks for your decision', label: 'Decision needed' };
}
