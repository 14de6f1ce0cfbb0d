import type { Runtime } from '../../env';
import { logFailure } from '../../lib/log';
import { callSlack } from './api';
import { type SlackMessage, section } from './blocks';
import { AS_WRITTEN, linkButton } from './message';
import { escapeText } from './text';

/** Where a person pressed a button. */
export interface PressedAt {
  channel: string;
  user: string;
}

/** Shows a message to one person alone. A failure is logged: the person then sees nothing, and may press again. */
export async function whisper(
  runtime: Runtime,
  botToken: string,
  { channel, user }: PressedAt,
  message: SlackMessage,
): Promise<void> {
  await callAndLog(runtime, botToken, 'chat.postEphemeral', { channel, user, ...message, ...AS_WRITTEN });
}

/** Calls Slack, and logs a failure. Returns whether it succeeded. */
export async function callAndLog(runtime: Runtime, botToken: string, method: string, body: object): Promise<boolean> {
  const answer = await callSlack(runtime, botToken, method, body);
  if (!answer.ok) logFailure('slack_call_failed', answer.error, { method });
  return answer.ok;
}

/** A short message with a link to the decision card. */
export function notice(text: string, url: string): SlackMessage {
  return { text: escapeText(text), blocks: [section(text), { type: 'actions', elements: [linkButton(url)] }] };
}
