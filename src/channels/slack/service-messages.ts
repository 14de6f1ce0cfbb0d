import { type DeliveryEvent, isAsking } from '../../db/schema';
import type { DisabledWebhook } from '../message';
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

/** The message that counts what is not posted by itself, and links to the inbox. */
export function digestMessage(
  deliveries: readonly { event: DeliveryEvent; aboutPermission: string | null }[],
  url: string,
): SlackMessage {
  const requestsOf = (isCounted: (event: DeliveryEvent) => boolean) =>
    new Set(
      deliveries
        .filter(({ event }) => isCounted(event))
        .map(({ aboutPermission }) => aboutPermission),
    ).size;
  const waiting = requestsOf(isAsking);
  const ended = requestsOf((event) => !isAsking(event));
  const parts = [
    ...(waiting > 0
      ? [`${waiting} more ${waiting === 1 ? 'request waits' : 'requests wait'} for a decision.`]
      : []),
    ...(ended > 0 ? [`${ended} more ${ended === 1 ? 'request has' : 'requests have'} ended.`] : []),
  ];
  return notice(parts.join(' '), url, 'Open the inbox');
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
