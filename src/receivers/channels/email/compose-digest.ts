import { endWord, isOutcomeMissing, OUTCOME_UNKNOWN } from '../event-words';
import type { PermissionMessage } from '../message';
import type { Block, ListedRequest, Phrase } from './document';
import type { Mail, MailRecipient } from './mail';
import { renderMail } from './render';
import { count, deadlineText } from './time-text';
import { writtenLine } from './written';

/** How many requests a digest lists. */
const MAX_REQUESTS = 20;
const MAX_TITLE = 120;
const MAX_RESOURCE = 80;
const MAX_NAME = 60;

/**
 * Composes one mail about many messages. It has each request once, as the message that knows most
 * about it has it: first the requests that wait, the one that expires first at the top, then those
 * that ended, the newest first. It lists 20 of them, and says how many more there are.
 * @param now when the digest was made, in milliseconds since the epoch: the same for every attempt
 *   to send it
 */
export function composeDigest(
  messages: readonly PermissionMessage[],
  to: MailRecipient,
  inboxUrl: string,
  now: number,
): Mail {
  const requests = latestOfEach(messages);
  const waiting = requests
    .filter((message) => isWaiting(message, now))
    .toSorted((a, b) => compare(a.permission.expires_at, b.permission.expires_at));
  const ended = requests
    .filter((message) => !isWaiting(message, now))
    .toSorted((a, b) => compare(endTime(b), endTime(a)));
  const listedWaiting = waiting.slice(0, MAX_REQUESTS);
  const listedEnded = ended.slice(0, MAX_REQUESTS - listedWaiting.length);
  const blocks: Block[] = [];
  if (listedWaiting.length > 0)
    blocks.push(list('Waiting, the most urgent first', listedWaiting, now));
  if (listedEnded.length > 0) blocks.push(list('Ended', listedEnded, now));
  const more = requests.length - listedWaiting.length - listedEnded.length;
  if (more > 0) {
    const text = moreText(more, waiting.length - listedWaiting.length);
    blocks.push({ kind: 'paragraph', text });
  }
  const waits = waiting.length === 1 ? 'waits' : 'wait';
  const summary = `${count(waiting.length, 'request')} ${waits} for a decision`;
  return renderMail(
    {
      subject: ended.length > 0 ? `${summary}, ${ended.length} ended` : summary,
      heading: summary,
      blocks,
      link: { label: 'Open the inbox', url: inboxUrl },
      note:
        'This mail combines messages that were due at the same time. The links ask you to sign ' +
        'in; without that they show nothing.',
    },
    to,
  );
}

/** Says how many requests a digest does not list, and how many of these wait. */
function moreText(more: number, waiting: number): string {
  const are = more === 1 ? 'is' : 'are';
  const start = `There ${are} ${count(more, 'more request')}`;
  const end = 'The inbox has them all.';
  if (waiting === 0) return `${start}. ${end}`;
  const wait = waiting === 1 ? 'waits' : 'wait';
  return `${start}, ${waiting} of which ${wait}. ${end}`;
}

/**
 * The last message about each request, or in any order one that says how it ended or, even more,
 * that its outcome is unknown.
 */
function latestOfEach(messages: readonly PermissionMessage[]): PermissionMessage[] {
  const latest = new Map<string, PermissionMessage>();
  for (const message of messages) {
    const known = latest.get(message.permission.id);
    const isLast = isOutcomeMissing(message) || !known || endWord(known.permission) === null;
    if (isLast) latest.set(message.permission.id, message);
  }
  return [...latest.values()];
}

function list(title: string, messages: PermissionMessage[], now: number): Block {
  return {
    kind: 'requests',
    title,
    requests: messages.map((message) => listedRequest(message, now)),
  };
}

function listedRequest(message: PermissionMessage, now: number): ListedRequest {
  const { permission, agentName, url } = message;
  const { title, action, resource } = permission;
  return {
    title: title === null ? null : writtenLine(title, MAX_TITLE),
    action: writtenLine(action, MAX_NAME),
    resource: writtenLine(resource, MAX_RESOURCE),
    agent: writtenLine(agentName, MAX_NAME),
    state: stateOf(message, now),
    url,
  };
}

/** Until when a request can be decided, or how it ended. */
function stateOf(message: PermissionMessage, now: number): Phrase[] {
  const { permission, decidedBy } = message;
  if (isOutcomeMissing(message)) return [OUTCOME_UNKNOWN];
  if (isWaiting(message, now)) return [`Decide by ${deadlineText(permission.expires_at, now)}`];
  const end = endWord(permission) ?? 'Expired';
  if (decidedBy === null) return [end];
  return [`${end} by `, writtenLine(decidedBy, MAX_NAME)];
}

/**
 * Whether a request can still be decided. It may have expired since the message about it was made.
 */
function isWaiting({ permission }: PermissionMessage, now: number): boolean {
  return permission.status === 'pending' && Date.parse(permission.expires_at) > now;
}

/** When a request ended. */
function endTime({ permission }: PermissionMessage): string {
  const { decided_at, updated_at, expires_at } = permission;
  const endedAt = endWord(permission) === 'Withdrawn' ? updated_at : expires_at;
  return decided_at ?? endedAt;
}

/** Compares texts by code units, as times in ISO 8601 are compared. */
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
