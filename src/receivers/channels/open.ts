import type { ClaimedWebhook } from '../webhooks/dispatch/claim';
import type { Target } from '../webhooks/dispatch/prepare';
import type { ChannelContext } from './channel-context';
import { openEmailChannel } from './email/open';
import { openSlackChannel } from './slack/open';

/** Opens a channel for the worker that has claimed it. */
export async function openChannel(
  context: ChannelContext,
  claimed: ClaimedWebhook,
): Promise<Target> {
  return claimed.webhook.kind === 'slack'
    ? openSlackChannel(context, claimed)
    : openEmailChannel(context, claimed);
}
