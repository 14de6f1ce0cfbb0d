import type { Child } from 'hono/jsx';
import { MINUTE } from '../../lib/time';
import type { DeliveryDetail } from '../../receivers/webhooks/deliveries/get';
import type { Refusal } from '../frame/form';
import type { Names } from '../frame/names';
import { sendPage, sendPart } from '../frame/page';
import { usePage } from '../frame/page-context';
import { Facts } from '../parts/blocks';
import { Action, Alert } from '../parts/form';
import { Badge, JsonText, Time } from '../parts/inline';
import { LivePart } from '../parts/live';
import { StackingTable } from '../parts/stacking-table';
import type { SignedInRequest } from '../session/access';
import { eventText, type ListedDelivery } from './deliveries';

type ShownDelivery = ListedDelivery & Pick<DeliveryDetail, 'payload' | 'attempt_history'>;

/** How often a delivery is loaded again whose next attempt is near, in seconds. */
const INTERVAL = 3;

interface DeliveryPage {
  delivery: ShownDelivery;
  /** The path of the page of the webhook or channel. */
  path: string;
  /** The name of the webhook or channel in the link back. */
  receiver: Child;
  names?: Names;
  /** Facts about the delivery beside its state. */
  facts?: Parameters<typeof Facts>[0]['facts'];
  /** Says that the service cannot send it. */
  notice?: Child;
  /** Sends it again, or says why that would not work. */
  repeat: Child;
  /** The heading of the payload. */
  payloadTitle: string;
  /** Stands below the payload. */
  children?: Child;
  /** Why the redelivery in this request was refused. */
  refusal: Refusal | undefined;
}

/**
 * Answers with the page of a delivery: its attempts, the payload, and the result. The page keeps
 * itself up to date while an attempt is due.
 */
export function sendDeliveryPage(
  c: SignedInRequest,
  {
    delivery,
    path,
    receiver,
    names,
    facts = [],
    notice,
    repeat,
    payloadTitle,
    children,
    refusal,
  }: DeliveryPage,
): Response {
  const title = `Delivery of ${eventText(delivery)}`;
  const due = delivery.next_attempt_at;
  const isDueSoon = due !== null && Date.parse(due) < c.var.signedIn.context.runtime.now() + MINUTE;
  const source = `${path}/deliveries/${delivery.id}?part=progress`;
  const progress = (
    <LivePart id="delivery" source={source} seconds={INTERVAL} title={title} reloads={isDueSoon}>
      <Progress delivery={delivery} facts={facts} />
      {delivery.status !== 'pending' && repeat}
    </LivePart>
  );
  if (c.req.query('part') === 'progress') return sendPart(c, progress, names);
  return sendPage(c, {
    title,
    names,
    status: refusal?.status,
    children: (
      <>
        <p>
          <a href={path}>Back to the {receiver}</a>
        </p>
        {refusal && <Alert>{refusal.detail}</Alert>}
        {notice}
        {progress}
        <div class="part">
          <h2>{payloadTitle}</h2>
          {delivery.payload === null && (
            <p>Not shown: your role may not read this data, or it is no longer kept.</p>
          )}
          {delivery.payload !== null && <JsonText value={delivery.payload} label={payloadTitle} />}
          {children}
        </div>
      </>
    ),
  });
}

/** The button that sends a delivery again. */
export function RepeatAction({ path, id }: { path: string; id: string }) {
  return <Action action={`${path}/deliveries/${id}/redeliver`} label="Send it again" />;
}

const ATTEMPT_COLUMNS = [
  { name: 'When' },
  { name: 'Answer', hasLabel: true },
  { name: 'Result', class: 'sentence' },
  { name: 'Took', class: 'number', hasLabel: true },
];

function Progress({
  delivery,
  facts,
}: { delivery: ShownDelivery } & Required<Pick<DeliveryPage, 'facts'>>) {
  const {
    status,
    attempts,
    attempt_history,
    next_attempt_at,
    last_error,
    created_at,
    completed_at,
  } = delivery;
  const { formatNumber } = usePage();
  // Some deliveries end without an attempt, for example because the webhook was disabled.
  const hasOtherEnd = last_error !== null && last_error !== attempt_history.at(-1)?.error;
  return (
    <>
      <Facts
        facts={[
          ...facts,
          ['State', <Badge state={status} />],
          ['Created', <Time at={created_at} />],
          completed_at !== null && [
            status === 'failed' ? 'Given up' : 'Delivered',
            <Time at={completed_at} />,
          ],
          next_attempt_at !== null && ['Next attempt', <Time at={next_attempt_at} />],
        ]}
      />
      {hasOtherEnd && <p class="fault">{last_error}</p>}
      <div class="part">
        <h2>Attempts</h2>
        {attempts === 0 && (
          <p role="status">There was no attempt{status === 'pending' && ' yet'}.</p>
        )}
        {attempts > 0 && (
          <StackingTable
            caption="Attempts"
            columns={ATTEMPT_COLUMNS}
            rows={attempt_history.map(({ at, status_code, error, duration_ms }) => [
              <Time at={at} />,
              status_code ?? 'none',
              error ?? 'Delivered',
              `${formatNumber(duration_ms)} ms`,
            ])}
          />
        )}
        <p class="hint">Countersign keeps the status of an answer, not its text.</p>
      </div>
    </>
  );
}
