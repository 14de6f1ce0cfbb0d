import type { Config } from '../env';
import type { ClaimedWebhook } from '../webhooks/dispatch/claim';
import type { Target } from '../webhooks/dispatch/prepare';
import { openEmailChannel } from './email/open';
import { openSlackChannel } from './slack/open';

/** Opens a channel for the worker that has claimed it. */
export async function openChannel(config: Config, claimed: ClaimedWebhook): Promise<Target> {
  return claimed.webhook.kind === 'slack' ? openSlackChannel(config, claimed) : openEmailChannel(config, claimed);
}
