import { MINUTE } from '../../lib/time';
import type { deliveryOfPath } from '../../webhooks/deliveries/delivery';
import { type DeliveryDetail, getDelivery } from '../../webhooks/deliveries/get';
import { redeliver } from '../../webhooks/deliveries/redeliver';
import { requireLoaded } from '../../webhooks/webhook';
import { type Refusal, refusalOf } from '../frame/form';
import { sendPage, sendPart } from '../frame/page';
import { Facts } from '../parts/blocks';
import { Action, Alert } from '../parts/form';
import { Badge, Code, JsonText, Time } from '../parts/inline';
import { LivePart } from '../parts/live';
import { StackingTable } from '../parts/stacking-table';
import type { PreloadedContext } from '../session/access';

type DeliveryContext = PreloadedContext<typeof deliveryOfPath>;

/** How often a delivery is loaded again whose next attempt is near, in seconds. */
const INTERVAL = 3;

/**
 * Shows a delivery: its attempts, the payload, and the result. Keeps itself up to date while an attempt is due.
 * @param refusal why the redelivery in this request was refused
 */
export async function showDelivery(c: DeliveryContext, refusal?: Refusal): Promise<Response> {
  const { context } = c.var.signedIn;
  const row = requireLoaded(c.var.loaded.delivery, 'delivery');
  const delivery = getDelivery(context, { delivery: row });
  const path = `/console/webhooks/${delivery.webhook_id}`;
  const own = `${path}/deliveries/${delivery.id}`;
  const mayWrite = context.principal.scopes.includes('webhooks:write');
  const title = `Delivery of ${delivery.event}`;
  const due = delivery.next_attempt_at;
  const isDueSoon = due !== null && Date.parse(due) < context.runtime.now() + MINUTE;
  const progress = (
    <LivePart id="delivery" source={`${own}?part=progress`} seconds={INTERVAL} title={title} reloads={isDueSoon}>
      <Progress delivery={delivery} />
      {mayWrite && delivery.status !== 'pending' && <Action action={`${own}/redeliver`} label="Send it again" />}
    </LivePart>
  );
  if (c.req.query('part') === 'progress') return sendPart(c, progress);
  return sendPage(c, {
    title,
    status: refusal?.status,
    children: (
      <>
        <p>
          <a href={path}>Back to the webhook</a>
        </p>
        {refusal && <Alert>{refusal.detail}</Alert>}
        {progress}
        <Payload delivery={delivery} webhookMessageId={row.original ?? row.id} />
      </>
    ),
  });
}

/** Sends the event of the delivery in the path again, and shows the new delivery. */
export async function sendAgain(c: DeliveryContext): Promise<Response> {
  const delivery = requireLoaded(c.var.loaded.delivery, 'delivery');
  try {
    const again = await redeliver(c.var.signedIn.context, { delivery });
    return c.redirect(`/console/webhooks/${again.webhook_id}/deliveries/${again.id}`, 303);
  } catch (error) {
    return showDelivery(c, refusalOf(error));
  }
}

const ATTEMPT_COLUMNS = [
  { name: 'When' },
  { name: 'Answer', hasLabel: true },
  { name: 'Result', class: 'sentence' },
  { name: 'Took', class: 'number', hasLabel: true },
];

function Progress({ delivery }: { delivery: DeliveryDetail }) {
  const { status, attempts, attempt_history, next_attempt_at, last_error, created_at, completed_at } = delivery;
  // Some deliveries end without an attempt, for example because the webhook was disabled.
  const hasOtherEnd = last_error !== null && last_error !== attempt_history.at(-1)?.error;
  return (
    <>
      <Facts
        facts={[
          ['State', <Badge state={status} />],
          ['Created', <Time at={created_at} />],
          completed_at !== null && [status === 'failed' ? 'Given up' : 'Delivered', <Time at={completed_at} />],
          next_attempt_at !== null && ['Next attempt', <Time at={next_attempt_at} />],
        ]}
      />
      {hasOtherEnd && <p class="fault">{last_error}</p>}
      <div class="part">
        <h2>Attempts</h2>
        {attempts === 0 ? (
          <p role="status">There was no attempt yet.</p>
        ) : (
          <StackingTable
            caption="Attempts"
            columns={ATTEMPT_COLUMNS}
            rows={attempt_history.map(({ at, status_code, error, duration_ms }) => [
              <Time at={at} />,
              status_code ?? 'none',
              error ?? 'Delivered',
              `${duration_ms.toLocaleString('en')} ms`,
            ])}
          />
        )}
        <p class="hint">Countersign keeps the status of an answer, not its text.</p>
      </div>
    </>
  );
}

interface PayloadProps {
  delivery: DeliveryDetail;
  /** The id by which the receiver recognizes the message. */
  webhookMessageId: string;
}

function Payload({ delivery: { payload }, webhookMessageId }: PayloadProps) {
  return (
    <div class="part">
      <h2>What is sent</h2>
      {payload === null ? (
        <p>Not shown: your role may not read this data, or its audit entry is no longer kept.</p>
      ) : (
        <JsonText value={payload} label="What is sent" />
      )}
      <p class="hint">
        With the header <code>webhook-id</code>: <Code text={webhookMessageId} />
      </p>
    </div>
  );
}
