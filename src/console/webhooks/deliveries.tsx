import { DELIVERY_STATUSES, type DeliveryStatus } from '../../db/schema';
import type { Page } from '../../http/page';
import type { Delivery } from '../../webhooks/deliveries/delivery';
import type { Webhook } from '../../webhooks/webhook';
import { Empty, NextPage, Table, Tabs, withParameters } from '../parts/blocks';
import { Badge, Time } from '../parts/inline';

interface DeliveriesProps {
  webhook: Webhook;
  page: Page<Delivery>;
  /** The only status that is listed; undefined for all. */
  status: DeliveryStatus | undefined;
  /** The URL of this page, from which the links to other statuses and pages are made. */
  address: URL;
}

/** The deliveries of a webhook, the newest first, all or those of one status. */
export function Deliveries({ webhook, page, status, address }: DeliveriesProps) {
  return (
    <div class="part">
      <h2>Deliveries</h2>
      <Tabs
        label="Deliveries by state"
        tabs={[[undefined, 'All'], ...DELIVERY_STATUSES.map((each) => [each, capitalized(each)] as const)]}
        current={status}
        address={(each) => withParameters(address, { status: each ?? null, cursor: null })}
      />
      {page.data.length === 0 ? (
        <NoDeliveries status={status} isActive={webhook.is_active} hasMore={page.has_more} />
      ) : (
        <Table caption="Deliveries" columns={['Event', 'State', 'Attempts', 'Last answer', 'Created', 'Next attempt']}>
          {page.data.map((delivery) => (
            <DeliveryRow delivery={delivery} />
          ))}
        </Table>
      )}
      <NextPage page={page} address={address} />
      <p class="hint">Deliveries are kept for 30 days.</p>
    </div>
  );
}

function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const { id, webhook_id, event, status, attempts, last_error, last_status_code, next_attempt_at, created_at } =
    delivery;
  return (
    <tr>
      <th scope="row">
        <a href={`/console/webhooks/${webhook_id}/deliveries/${id}`}>{event}</a>
      </th>
      <td>
        <Badge state={status} />
      </td>
      <td class="number">{attempts}</td>
      <td class="sentence">{last_error ?? last_status_code ?? '–'}</td>
      <td>
        <Time at={created_at} />
      </td>
      <td>{next_attempt_at ? <Time at={next_attempt_at} /> : '–'}</td>
    </tr>
  );
}

interface NoDeliveriesProps {
  status: DeliveryStatus | undefined;
  isActive: boolean;
  /** Whether the next page may have some: not all deliveries were looked at. */
  hasMore: boolean;
}

function NoDeliveries({ status, isActive, hasMore }: NoDeliveriesProps) {
  if (hasMore) return <p>None of the newest deliveries is {status}. Older ones may be.</p>;
  if (status !== undefined) return <p>No delivery is {status}.</p>;
  return (
    <Empty title="Nothing was sent yet.">
      {isActive && <p class="soft">Send a test to see whether your receiver answers.</p>}
    </Empty>
  );
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
