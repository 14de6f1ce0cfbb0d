import { type Column, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { eventFeeds, receivers } from '../../db/schema';
import type { Ledger } from '../../ledger/ledger';
import { type DeliveryQueues, enqueueOrThrow } from '../../outbox/enqueue';
import type { Slice } from '../../task';
import { CLAIM_DURATION } from './limits';

/** Maximum number of messages of one slice: a queue takes 100 at once. */
const MESSAGES = 100;

/** The services with which the cron tasks of receivers find and enqueue what is due. */
interface EnqueueContext {
  shard: string;
  reader: Reader;
  ledger: Ledger;
  queues: DeliveryQueues;
  now: number;
}

/**
 * Enqueues messages for a slice of the accounts with events that need deliveries. Each is due again
 * after the duration of a claim, so that an account whose messages always fail does not keep others
 * waiting.
 * @returns whether there may be more
 */
export async function enqueuePendingEvents({
  shard,
  ledger,
  queues,
  now,
}: EnqueueContext): Promise<boolean> {
  const due = sql`(
    select ${eventFeeds.account} from ${eventFeeds} indexed by event_feeds_due
    where ${eventFeeds.dueAt} is not null and ${eventFeeds.dueAt} <= ${now}
    order by ${eventFeeds.dueAt} limit ${MESSAGES}
  )`;
  const [feeds] = await ledger.write({
    changes: (write) => [
      write
        .update(eventFeeds)
        .set({ dueAt: now + CLAIM_DURATION })
        .where(sql`${eventFeeds.account} in ${due}`)
        .returning({ account: eventFeeds.account }),
    ],
  });
  await enqueueOrThrow(
    queues,
    feeds.map(({ account }) => ({ body: { shard, account }, isSlow: false })),
  );
  return feeds.length === MESSAGES;
}

/**
 * Enqueues messages for a slice of the receivers that are due: they have a delivery to send or to
 * cancel, or their claim expired because its worker crashed. Releases such a claim. Each receiver
 * is due again after the duration of a claim.
 * @returns whether there may be more
 */
export async function enqueueDueDeliveries({
  shard,
  ledger,
  queues,
  now,
}: EnqueueContext): Promise<boolean> {
  const due = sql`(
    select ${receivers.number} from ${receivers} indexed by receivers_due
    where ${receivers.dueAt} is not null and ${receivers.dueAt} <= ${now}
    order by ${receivers.dueAt} limit ${MESSAGES}
  )`;
  const [rows] = await ledger.write({
    changes: (write) => [
      write
        .update(receivers)
        .set({ lease: null, dueAt: now + CLAIM_DURATION })
        .where(sql`${receivers.number} in ${due}`)
        .returning({
          account: receivers.account,
          receiver: receivers.number,
          isSlow: receivers.isSlow,
        }),
    ],
  });
  await enqueueOrThrow(
    queues,
    rows.map(({ account, receiver, isSlow }) => ({ body: { shard, account, receiver }, isSlow })),
  );
  return rows.length === MESSAGES;
}

/** The place of an item in the order in which {@link enqueueUpcoming} enqueues. */
interface Place {
  dueAt: number;
  account: number;
  /** 0 for the account's feed. */
  receiver: number;
}

/**
 * Makes a function that enqueues, slice by slice, messages for the feeds and receivers that become
 * due before a claim made now would expire. Each message is delayed until its feed or receiver is
 * due.
 *
 * So a receiver that a crashed worker has claimed, or whose message the queue has lost, continues
 * as soon as it is due, and not with the next run of the cron tasks a minute later. A message does
 * nothing if another one was handled before.
 * @param open gives the context with the current time
 */
export function enqueueUpcoming(open: () => EnqueueContext): Slice {
  let last: Place | undefined;
  let end: number | undefined;
  return async () => {
    const { shard, reader, queues, now } = open();
    // Leaves out what the other tasks of this run enqueue: they set its due time to the end or
    // later.
    end ??= now + CLAIM_DURATION;
    const { dueAt, account, receiver } = last ?? { dueAt: now + 1, account: 0, receiver: 0 };
    const isNext = (column: Column) =>
      sql`${column} is not null and ${column} >= ${dueAt} and ${column} < ${end}`;
    const upcoming = sql`(
      select ${eventFeeds.account}, 0 as receiver, 0 as is_slow, ${eventFeeds.dueAt}
      from ${eventFeeds} indexed by event_feeds_due where ${isNext(eventFeeds.dueAt)}
      union all
      select ${receivers.account}, ${receivers.number}, ${receivers.isSlow}, ${receivers.dueAt}
      from ${receivers} indexed by receivers_due where ${isNext(receivers.dueAt)}
    ) as upcoming`;
    const [rows] = await reader.load([
      reader
        .select({
          account: sql<number>`account`.as('account'),
          receiver: sql<number>`receiver`.as('receiver'),
          isSlow: sql`is_slow`.mapWith(Boolean).as('is_slow'),
          dueAt: sql<number>`due_at`.as('due_at'),
        })
        .from(upcoming)
        .where(sql`(due_at, account, receiver) > (${dueAt}, ${account}, ${receiver})`)
        .orderBy(sql`due_at`, sql`account`, sql`receiver`)
        .limit(MESSAGES),
    ]);
    last = rows.at(-1) ?? last;
    await enqueueOrThrow(
      queues,
      rows.map((row) => ({
        body: {
          shard,
          account: row.account,
          ...(row.receiver !== 0 && { receiver: row.receiver }),
        },
        isSlow: row.isSlow,
        delay: row.dueAt - now,
      })),
    );
    return rows.length === MESSAGES;
  };
}
