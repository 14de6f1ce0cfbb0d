import type { DisabledWebhook } from '../message';
import { type SlackMessage, section } from './blocks';
import { linkButton } from './message';
import { cut, escapeText, inLine } from './text';

const MAX_NAME = 500;
const MAX_URL = 1_000;

/** The message that shows that a channel works. */
export function testMessage({ channelName, url }: { channelName: string; url: string }): SlackMessage {
  const text = `This is a test of the channel ${cut(inLine(channelName), MAX_NAME)}: it works.`;
  return { text: escapeText(text), blocks: [section(text), { type: 'actions', elements: [linkButton(url)] }] };
}

/** The message about a webhook that the service disabled. */
export function webhookDisabledMessage({ webhook, url }: { webhook: DisabledWebhook; url: string }): SlackMessage {
  const lines = [
    'A webhook was disabled: it gets no events until somebody enables it again.',
    `URL: ${cut(inLine(webhook.url), MAX_URL)}`,
    `Reason: ${cut(inLine(webhook.disabled_reason), MAX_URL)}`,
  ];
  const text = lines.join('\n');
  return { text: escapeText(text), blocks: [section(text), { type: 'actions', elements: [linkButton(url)] }] };
}
