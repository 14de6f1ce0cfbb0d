import { withScriptsMark } from '../../../lib/scripts';
import { amountOf } from '../../../permissions/amount';
import { isAsking } from '../channel';
import { count } from '../email/time-text';
import { toShortLine } from '../email/written';
import { wordsOf } from '../event-words';
import {
  ACCOUNT_EFFECTS,
  type AccountMessage,
  type DisabledWebhook,
  type PermissionMessage,
} from '../message';

/** The notification that a device gets. Its service worker shows it (`console/push-worker`). */
export interface PushNotification {
  title: string;
  body: string;
  /** The path of the page that a tap opens. */
  path: string;
  /** A notification replaces an earlier one with the same tag. */
  tag: string;
  /** Whether the device makes itself felt also if it replaces an earlier one. */
  renotify: boolean;
  /** Until when a decision is possible; null if none is asked for. */
  deadline: string | null;
}

// A screen that is locked shows three or four short lines.
const MAX_NAME = 60;
const MAX_ACTION = 80;
const MAX_RESOURCE = 120;

/** Composes the notification about a permission: who asks for what, and how much. */
export function composePermission(message: PermissionMessage): PushNotification {
  const { permission, agentName, decidedBy, event } = message;
  const { action, resource, expires_at } = permission;
  const amount = amountOf(permission);
  const what = amount === null ? written(resource) : `${amount} · ${written(resource)}`;
  const who = [`Asked by ${written(agentName, MAX_NAME)}`];
  if (decidedBy !== null) who.push(`decided by ${written(decidedBy, MAX_NAME)}`);
  return {
    title: `${wordsOf(message).label}: ${written(action, MAX_ACTION)}`,
    body: `${what}\n${who.join(', ')}`,
    path: `/console/permissions/${permission.id}`,
    tag: permission.id,
    renotify: isAsking(event),
    deadline: isAsking(event) ? expires_at : null,
  };
}

/** Composes one notification for messages that were due at the same time. */
export function composeDigest(messages: readonly PermissionMessage[]): PushNotification {
  const asking = new Set<string>();
  const all = new Set<string>();
  for (const { permission, event } of messages) {
    all.add(permission.id);
    if (isAsking(event)) asking.add(permission.id);
  }
  const ended = all.size - asking.size;
  const waits = asking.size === 1 ? 'waits' : 'wait';
  const summary = `${count(asking.size, 'request')} ${waits} for a decision`;
  return {
    title: asking.size > 0 ? summary : `${count(ended, 'request')} ended`,
    body: asking.size > 0 && ended > 0 ? `${ended} more ended.` : 'Open the inbox.',
    path: '/console',
    tag: 'digest',
    renotify: asking.size > 0,
    deadline: null,
  };
}

/** Composes the notification that the service disabled a webhook. */
export function composeDisabledWebhook({
  id,
  url,
  disabled_reason,
}: DisabledWebhook): PushNotification {
  const host = URL.parse(url)?.host ?? url;
  return {
    title: `Webhook disabled: ${written(host, MAX_ACTION)}`,
    body: written(disabled_reason),
    path: `/console/webhooks/${id}`,
    tag: id,
    renotify: false,
    deadline: null,
  };
}

/** Composes the notification that somebody stopped or resumed the account. */
export function composeAccount({ event, by }: AccountMessage): PushNotification {
  const isStop = event === 'account.stopped';
  return {
    title: isStop ? 'All agents are stopped' : 'The agents may go on',
    body: `${isStop ? 'Stopped' : 'Resumed'} by ${written(by, MAX_NAME)}. ${ACCOUNT_EFFECTS[event]}`,
    path: '/console',
    tag: 'account',
    renotify: true,
    deadline: null,
  };
}

/** One line that an agent or a person wrote. */
function written(text: string, max = MAX_RESOURCE): string {
  return withScriptsMark(toShortLine(text, max));
}
