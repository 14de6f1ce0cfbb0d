import type { Runtime } from '../../../env';
import { logFailure } from '../../../lib/log';
import { callSlack } from './api';
import type { SlackMessage } from './blocks';
import { AS_WRITTEN } from './message';

/** Where a person pressed a button. */
export interface PressedAt {
  channel: string;
  user: string;
}

/**
 * Shows a message to one person alone. A failure is logged: the person then sees nothing, and may
 * press again.
 */
export async function postEphemeral(
  runtime: Runtime,
  botToken: string,
  { channel, user }: PressedAt,
  message: SlackMessage,
): Promise<void> {
  await callAndLog(runtime, botToken, 'chat.postEphemeral', {
    channel,
    user,
    ...message,
    ...AS_WRITTEN,
  });
}

/** Calls Slack, and logs a failure. Returns whether it succeeded. */
export async function callAndLog(
  runtime: Runtime,
  botToken: string,
  method: string,
  body: object,
): Promise<boolean> {
  const answer = await callSlack(runtime, botToken, method, body);
  if (!answer.ok) logFailure('slack_call_failed', answer.error, { method });
  return answer.ok;
}
