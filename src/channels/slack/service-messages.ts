import type { DisabledWebhook } from '../message';
import type { SlackMessage } from './blocks';
import { notice } from './message';
import { cut, inLine } from './text';

const MAX_NAME = 500;
const MAX_URL = 1_000;

/** The message that shows that a channel works. */
export function testMessage({ channelName, url }: { channelName: string; url: string }): SlackMessage {
  const text = `This is a test of the channel ${cut(inLine(channelName), MAX_NAME)}: it works.`;
  return notice(text, url);
}

/** The message about a webhook that the service disabled. */
export function webhookDisabledMessage({ webhook, url }: { webhook: DisabledWebhook; url: string }): SlackMessage {
  const lines = [
    'A webhook was disabled: it gets no events until somebody enables it again.',
    `URL: ${cut(inLine(webhook.url), MAX_URL)}`,
    `Reason: ${cut(inLine(webhook.disabled_reason), MAX_URL)}`,
  ];
  return notice(lines.join('\n'), url);
}
