import type { Child } from 'hono/jsx';
import type { Page } from '../../http/page';
import { DeliveryStatus } from '../../receivers/deliveries/delivery';
import type { Delivery } from '../../receivers/webhooks/deliveries/delivery';
import { Empty, NextPage, Tabs, withParameters } from '../parts/blocks';
import { Badge, Time } from '../parts/inline';
import { StackingTable } from '../parts/stacking-table';

/** A delivery to a webhook, or a message by a channel. */
export type ListedDelivery = Omit<Delivery, 'webhook_id'> & {
  /** Which reminder it is; null if it is none. */
  reminder?: number | null;
};

interface DeliveriesProps<D extends ListedDelivery> {
  /** The path of the page of the webhook or channel. */
  path: string;
  page: Page<D>;
  /** The only status that is listed; undefined for all. */
  status: DeliveryStatus | undefined;
  /** The URL of this page, from which the links to other statuses and pages are made. */
  address: URL;
  /** Names the recipient of a delivery. Without it there is only one. */
  recipient?: (delivery: D) => Child;
  /** How to get a first delivery. */
  advice: Child;
}

/** The deliveries of a webhook or channel, the newest first, all or those of one status. */
export function Deliveries<D extends ListedDelivery>({
  path,
  page,
  status,
  address,
  recipient,
  advice,
}: DeliveriesProps<D>) {
  const [event, ...others] = COLUMNS;
  // A recipient takes the place of the time of the next attempt, which the page of a delivery has
  // too.
  const shown = recipient ? [event, RECIPIENT, ...others.slice(0, -1)] : COLUMNS;
  const cellsInRow = (delivery: D) => {
    const [first, ...cells] = cellsOf(delivery, path);
    if (!recipient) return [first, ...cells];
    return [first, recipient(delivery), ...cells.slice(0, -1)];
  };
  return (
    <div class="part">
      <h2>Deliveries</h2>
      <Tabs
        label="Deliveries by state"
        tabs={[
          [undefined, 'All'],
          ...DeliveryStatus().options.map((each) => [each, capitalized(each)] as const),
        ]}
        current={status}
        address={(each) => withParameters(address, { status: each ?? null, cursor: null })}
      />
      {page.data.length === 0 && (
        <NoDeliveries status={status} advice={advice} hasMore={page.has_more} />
      )}
      {page.data.length > 0 && (
        <StackingTable caption="Deliveries" columns={shown} rows={page.data.map(cellsInRow)} />
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
] as const;

const RECIPIENT = { name: 'To', hasLabel: true };

function cellsOf(delivery: ListedDelivery, path: string): [first: Child, ...others: Child[]] {
  const { id, status, attempts, last_error, last_status_code, next_attempt_at, created_at } =
    delivery;
  return [
    <a href={`${path}/deliveries/${id}`}>{eventText(delivery)}</a>,
    <Badge state={status} />,
    attempts,
    last_error ?? last_status_code,
    <Time at={created_at} />,
    next_attempt_at && <Time at={next_attempt_at} />,
  ];
}

/** The event of a delivery, and which reminder it is. */
export function eventText({ event, reminder }: Pick<ListedDelivery, 'event' | 'reminder'>): string {
  if (!reminder) return event;
  return `${event}, reminder ${reminder}`;
}

interface NoDeliveriesProps {
  status: DeliveryStatus | undefined;
  advice: Child;
  /** Whether the next page may have some: not all deliveries were looked at. */
  hasMore: boolean;
}

function NoDeliveries({ status, advice, hasMore }: NoDeliveriesProps) {
  if (hasMore) return <p>None of the newest deliveries is {status}. Older ones may be.</p>;
  if (status !== undefined) return <p>No delivery is {status}.</p>;
  return <Empty title="Nothing was sent yet.">{advice && <p>{advice}</p>}</Empty>;
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
