import { openEmailSender } from '../channels/email/open';
import { openPushSender } from '../channels/push/open';
import { openSlackSender } from '../channels/slack/open';
import type { DispatchContext } from '../context';
import type { ClaimedReceiver, Sender } from '../sender';
import { openWebhookSender } from '../webhooks/open';

/** Opens the sender to a receiver for the worker that has claimed it. */
export function openSender(context: DispatchContext, claimed: ClaimedReceiver): Promise<Sender> {
  switch (claimed.receiver.kind) {
    case 'webhook':
      return openWebhookSender(context, claimed);
    case 'email':
      return openEmailSender(context, claimed);
    case 'slack':
      return openSlackSender(context, claimed);
    case 'push':
      return openPushSender(context, claimed);
  }
}
