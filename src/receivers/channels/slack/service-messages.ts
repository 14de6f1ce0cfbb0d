import type { DeliveryEvent } from '../../../db/schema';
import { utcText } from '../../../lib/time';
import { isAsking } from '../channel';
import { ACCOUNT_EFFECTS, type AccountMessage, type DisabledWebhook } from '../message';
import type { SlackMessage } from './blocks';
import { notice } from './message';
import { cut, inLine } from './text';

const MAX_NAME = 500;
const MAX_URL = 1_000;

/** The message that shows that a channel works. */
export function testMessage({
  channelName,
  url,
}: {
  channelName: string;
  url: string;
}): SlackMessage {
  const text = `This is a test of the channel ${cut(inLine(channelName), MAX_NAME)}: it works.`;
  return notice(text, url);
}

/** The message that counts requests without messages of their own, and links to the inbox. */
export function digestMessage(
  deliveries: readonly { event: DeliveryEvent; aboutPermission: string | null }[],
  url: string,
): SlackMessage {
  const count = (isCounted: (event: DeliveryEvent) => boolean) => {
    const counted = deliveries.filter(({ event }) => isCounted(event));
    return new Set(counted.map(({ aboutPermission }) => aboutPermission)).size;
  };
  const isOutcomeMissing = (event: DeliveryEvent) => event === 'permission.outcome_missing';
  const texts = [
    waitingText(count(isAsking)),
    endedText(count((event) => !isAsking(event) && !isOutcomeMissing(event))),
    unknownText(count(isOutcomeMissing)),
  ];
  const text = texts.filter((each) => each !== '').join(' ');
  return notice(text, url, 'Open the inbox');
}

function waitingText(count: number): string {
  if (count === 0) return '';
  if (count === 1) return '1 more request waits for a decision.';
  return `${count} more requests wait for a decision.`;
}

function endedText(count: number): string {
  if (count === 0) return '';
  if (count === 1) return '1 more request has ended.';
  return `${count} more requests have ended.`;
}

function unknownText(count: number): string {
  if (count === 0) return '';
  if (count === 1) return 'The outcome of 1 more act is unknown.';
  return `The outcomes of ${count} more acts are unknown.`;
}

/** The message about a webhook that the service disabled. */
export function webhookDisabledMessage({
  webhook,
  url,
}: {
  webhook: DisabledWebhook;
  url: string;
}): SlackMessage {
  const lines = [
    'A webhook was disabled: it gets no events until somebody enables it again.',
    `URL: ${cut(inLine(webhook.url), MAX_URL)}`,
    `Reason: ${cut(inLine(webhook.disabled_reason), MAX_URL)}`,
  ];
  return notice(lines.join('\n'), url);
}

/** The message about a stop or resume of the account. */
export function accountMessage(
  { event, at, by, reason }: AccountMessage,
  url: string,
): SlackMessage {
  const isStop = event === 'account.stopped';
  const heading = isStop ? 'All agents are stopped.' : 'The agents may go on.';
  const lines = [
    `${heading} ${ACCOUNT_EFFECTS[event]}`,
    `${isStop ? 'Stopped' : 'Resumed'} by: ${cut(inLine(by), MAX_NAME)}`,
    `When: ${utcText(at)}`,
  ];
  if (reason !== null) lines.push(`Reason: ${cut(inLine(reason), MAX_URL)}`);
  return notice(lines.join('\n'), url);
}
