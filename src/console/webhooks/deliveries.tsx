import type { Child } from 'hono/jsx';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../../db/schema';
import type { Page } from '../../http/page';
import type { Delivery } from '../../webhooks/deliveries/delivery';
import type { Webhook } from '../../webhooks/webhook';
import { Empty, NextPage, Tabs, withParameters } from '../parts/blocks';
import { Badge, Time } from '../parts/inline';
import { StackingTable } from '../parts/stacking-table';

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
        <StackingTable caption="Deliveries" columns={COLUMNS} rows={page.data.map(cellsOf)} />
      )}
      <NextPage page={page} address={address} />
      <p class="hint">Deliveries are kept for 30 days.</p>
    </div>
  );
}

const COLUMNS = [
  { name: 'Event' },
  { name: 'State' },
  { name: 'Attempts', class: 'number', hasLabel: true },
  { name: 'Last answer', class: 'sentence', hasLabel: true },
  { name: 'Created', class: 'whole', hasLabel: true },
  { name: 'Next attempt', class: 'whole', hasLabel: true },
];

function cellsOf(delivery: Delivery): Child[] {
  const { id, webhook_id, event, status, attempts, last_error, last_status_code, next_attempt_at, created_at } =
    delivery;
  return [
    <a href={`/console/webhooks/${webhook_id}/deliveries/${id}`}>{event}</a>,
    <Badge state={status} />,
    attempts,
    last_error ?? last_status_code,
    <Time at={created_at} />,
    next_attempt_at ? <Time at={next_attempt_at} /> : null,
  ];
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
    <Empty title="Nothing was sent yet.">{isActive && <p>Send a test to see whether your receiver answers.</p>}</Empty>
  );
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
