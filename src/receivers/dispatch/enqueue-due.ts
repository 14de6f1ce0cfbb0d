import { type Column, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { webhookFeeds, webhooks } from '../../db/schema';
import type { Ledger } from '../../ledger/ledger';
import { enqueueOrThrow, type WebhookQueues } from '../../outbox/enqueue';
import type { Slice } from '../../task';
import { CLAIM_DURATION } from './limits';

/** Maximum number of messages of one slice: a queue takes 100 at once. */
const MESSAGES = 100;

/** The services with which the cron tasks of receivers find and enqueue what is due. */
interface EnqueueContext {
  shard: string;
  reader: Reader;
  ledger: Ledger;
  queues: WebhookQueues;
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
    select ${webhookFeeds.account} from ${webhookFeeds} indexed by webhook_feeds_due
    where ${webhookFeeds.dueAt} is not null and ${webhookFeeds.dueAt} <= ${now}
    order by ${webhookFeeds.dueAt} limit ${MESSAGES}
  )`;
  const [feeds] = await ledger.write({
    changes: (write) => [
      write
        .update(webhookFeeds)
        .set({ dueAt: now + CLAIM_DURATION })
        .where(sql`${webhookFeeds.account} in ${due}`)
        .returning({ account: webhookFeeds.account }),
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
    select ${webhooks.number} from ${webhooks} indexed by webhooks_due
    where ${webhooks.dueAt} is not null and ${webhooks.dueAt} <= ${now}
    order by ${webhooks.dueAt} limit ${MESSAGES}
  )`;
  const [rows] = await ledger.write({
    changes: (write) => [
      write
        .update(webhooks)
        .set({ lease: null, dueAt: now + CLAIM_DURATION })
        .where(sql`${webhooks.number} in ${due}`)
        .returning({
          account: webhooks.account,
          webhook: webhooks.number,
          isSlow: webhooks.isSlow,
        }),
    ],
  });
  await enqueueOrThrow(
    queues,
    rows.map(({ account, webhook, isSlow }) => ({ body: { shard, account, webhook }, isSlow })),
  );
  return rows.length === MESSAGES;
}

/** The place of an item in the order in which {@link enqueueUpcoming} enqueues. */
interface Place {
  dueAt: number;
  account: number;
  /** 0 for the account's feed. */
  webhook: number;
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
    const { dueAt, account, webhook } = last ?? { dueAt: now + 1, account: 0, webhook: 0 };
    const isNext = (column: Column) =>
      sql`${column} is not null and ${column} >= ${dueAt} and ${column} < ${end}`;
    const upcoming = sql`(
      select ${webhookFeeds.account}, 0 as webhook, 0 as is_slow, ${webhookFeeds.dueAt}
      from ${webhookFeeds} indexed by webhook_feeds_due where ${isNext(webhookFeeds.dueAt)}
      union all
      select ${webhooks.account}, ${webhooks.number}, ${webhooks.isSlow}, ${webhooks.dueAt}
      from ${webhooks} indexed by webhooks_due where ${isNext(webhooks.dueAt)}
    ) as upcoming`;
    const [rows] = await reader.load([
      reader
        .select({
          account: sql<number>`account`.as('account'),
          webhook: sql<number>`webhook`.as('webhook'),
          isSlow: sql`is_slow`.mapWith(Boolean).as('is_slow'),
          dueAt: sql<number>`due_at`.as('due_at'),
        })
        .from(upcoming)
        .where(sql`(due_at, account, webhook) > (${dueAt}, ${account}, ${webhook})`)
        .orderBy(sql`due_at`, sql`account`, sql`webhook`)
        .limit(MESSAGES),
    ]);
    last = rows.at(-1) ?? last;
    await enqueueOrThrow(
      queues,
      rows.map((row) => ({
        body: { shard, account: row.account, ...(row.webhook !== 0 && { webhook: row.webhook }) },
        isSlow: row.isSlow,
        delay: row.dueAt - now,
      })),
    );
    return rows.length === MESSAGES;
  };
}
