import { openEmailChannel } from '../channels/email/open';
import { openPushDevice } from '../channels/push/open';
import { openSlackChannel } from '../channels/slack/open';
import type { DispatchContext } from '../context';
import type { ClaimedWebhook, Target } from '../target';
import { openWebhook } from '../webhooks/open';

/** Opens a webhook, a channel or a device for the worker that has claimed it. */
export function openTarget(context: DispatchContext, claimed: ClaimedWebhook): Promise<Target> {
  switch (claimed.webhook.kind) {
    case 'webhook':
      return openWebhook(context, claimed);
    case 'email':
      return openEmailChannel(context, claimed);
    case 'slack':
      return openSlackChannel(context, claimed);
    case 'push':
      return openPushDevice(context, claimed);
  }
}
