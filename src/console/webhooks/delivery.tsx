import { requireRow } from '../../receivers/receiver';
import type { preloadDelivery } from '../../receivers/webhooks/deliveries/delivery';
import { getDelivery } from '../../receivers/webhooks/deliveries/get';
import { redeliver } from '../../receivers/webhooks/deliveries/redeliver';
import { type Refusal, refusalOf } from '../frame/form';
import { Code } from '../parts/inline';
import { RepeatAction, sendDeliveryPage } from '../receivers/delivery';
import type { PreloadedContext } from '../session/access';
import { redirectWithFlash } from '../session/flash';

type DeliveryContext = PreloadedContext<typeof preloadDelivery>;

/**
 * Shows a delivery to a webhook.
 * @param refusal why the redelivery in this request was refused
 */
export async function showDelivery(c: DeliveryContext, refusal?: Refusal): Promise<Response> {
  const { context } = c.var.signedIn;
  const row = requireRow(c.var.loaded.delivery, 'delivery');
  const delivery = getDelivery(context, { delivery: row });
  const path = `/console/webhooks/${delivery.webhook_id}`;
  const mayWrite = context.principal.scopes.includes('webhooks:write');
  return sendDeliveryPage(c, {
    delivery,
    path,
    receiver: 'webhook',
    refusal,
    repeat: mayWrite && <RepeatAction path={path} id={delivery.id} />,
    payloadTitle: 'What is sent',
    // By this id the receiver recognizes the message.
    children: (
      <p class="hint">
        With the header <code>webhook-id</code>: <Code text={row.original ?? row.id} />
      </p>
    ),
  });
}

/** Sends the event of the delivery in the path again, and shows the new delivery. */
export async function sendAgain(c: DeliveryContext): Promise<Response> {
  const delivery = requireRow(c.var.loaded.delivery, 'delivery');
  try {
    const again = await redeliver(c.var.signedIn.context, { delivery });
    return redirectWithFlash(
      c,
      `/console/webhooks/${again.webhook_id}/deliveries/${again.id}`,
      'sent',
    );
  } catch (error) {
    return showDelivery(c, refusalOf(error));
  }
}
