import type { ClaimedWebhook } from '../webhooks/dispatch/claim';
import type { Target } from '../webhooks/dispatch/prepare';
import type { ChannelContext } from './channel-context';
import { openEmailChannel } from './email/open';
import { openPushDevice } from './push/open';
import { openSlackChannel } from './slack/open';

/** Opens a channel or a device for the worker that has claimed it. */
export async function openChannel(
  context: ChannelContext,
  claimed: ClaimedWebhook,
): Promise<Target> {
  const { kind } = claimed.webhook;
  if (kind === 'push') return openPushDevice(context, claimed);
  if (kind === 'slack') return openSlackChannel(context, claimed);
  return openEmailChannel(context, claimed);
}
