import type { SlackMessage } from './blocks';
import { notice } from './message';

/**
 * The private message to a Slack user who is not linked to a member yet.
 * @param url the page of the console on which the member confirms the link
 */
export function linkingMessage(url: string): SlackMessage {
  const text =
    'Countersign does not know yet which member you are. Link your Slack account once; then press the button again.';
  return notice(text, url, 'Link my account');
}
