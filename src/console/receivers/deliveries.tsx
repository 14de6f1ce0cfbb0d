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
  const columns = columnsOf(path, recipient);
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
        <StackingTable
          caption="Deliveries"
          columns={columns}
          rows={page.data.map((delivery) => columns.map(({ cell }) => cell(delivery)))}
        />
      )}
      <NextPage page={page} address={address} />
      <p class="hint">Deliveries are kept for 30 days.</p>
    </div>
  );
}

/** The columns of the table, each with what makes its cell in the row of a delivery. */
function columnsOf<D extends ListedDelivery>(
  path: string,
  recipient: DeliveriesProps<D>['recipient'],
) {
  const event = {
    name: 'Event',
    cell: (delivery: D) => <a href={`${path}/deliveries/${delivery.id}`}>{eventText(delivery)}</a>,
  };
  const others = [
    { name: 'State', cell: ({ status }: D) => <Badge state={status} /> },
    { name: 'Attempts', class: 'number', hasLabel: true, cell: ({ attempts }: D) => attempts },
    {
      name: 'Last answer',
      class: 'sentence',
      hasLabel: true,
      cell: ({ last_error, last_status_code }: D) => last_error ?? last_status_code,
    },
    {
      name: 'Created',
      class: 'whole',
      hasLabel: true,
      cell: ({ created_at }: D) => <Time at={created_at} />,
    },
  ];
  // Replaces the next attempt, which the delivery's own page shows.
  if (recipient) return [event, { name: 'To', hasLabel: true, cell: recipient }, ...others];
  const nextAttempt = {
    name: 'Next attempt',
    class: 'whole',
    hasLabel: true,
    cell: ({ next_attempt_at }: D) => next_attempt_at && <Time at={next_attempt_at} />,
  };
  return [event, ...others, nextAttempt];
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
