import { sql } from 'drizzle-orm';
import { webhookFeeds, webhooks } from '../../db/schema';
import type { WebhookConfig, WebhookMessage } from '../../env';
import type { Ledger } from '../../ledger/ledger';
import { SECOND } from '../../lib/time';

/** Messages that one slice sends, which is as many as a queue takes at once. */
const MESSAGES = 100;
/** After so long, in milliseconds, the next sweep takes a hint for lost. */
const PAUSE = 50 * SECOND;

export interface SweepContext {
  shard: string;
  ledger: Ledger;
  queues: Pick<WebhookConfig, 'queue' | 'slowQueue'>;
  now: number;
}

/**
 * Sends a hint for a slice of the accounts in which something has happened that no delivery was made of. Each is put off
 * a little, so that one that cannot be served holds up no other.
 * @returns whether there may be more
 */
export async function hintAtNews({ shard, ledger, queues, now }: SweepContext): Promise<boolean> {
  const due = sql`(
    select account from webhook_feeds indexed by webhook_feeds_due
    where due_at is not null and due_at <= ${now} order by due_at limit ${MESSAGES}
  )`;
  const [feeds] = await ledger.change({
    note: null,
    changes: (write) => [
      write
        .update(webhookFeeds)
        .set({ dueAt: now + PAUSE })
        .where(sql`${webhookFeeds.account} in ${due}`)
        .returning({ account: webhookFeeds.account }),
    ],
    answer: null,
  });
  await sendAll(
    queues.queue,
    feeds.map(({ account }) => ({ shard, account })),
  );
  return feeds.length === MESSAGES;
}

/**
 * Sends a hint for a slice of the webhooks to which something is due to be sent, and frees those whose lease is over:
 * whoever had it is gone.
 * @returns whether there may be more
 */
export async function hintAtDeliveries({ shard, ledger, queues, now }: SweepContext): Promise<boolean> {
  const due = sql`(
    select number from webhooks indexed by webhooks_due
    where due_at is not null and due_at <= ${now} order by due_at limit ${MESSAGES}
  )`;
  const [rows] = await ledger.change({
    note: null,
    changes: (write) => [
      write
        .update(webhooks)
        .set({ lease: null, dueAt: now + PAUSE })
        .where(sql`${webhooks.number} in ${due}`)
        .returning({ account: webhooks.account, webhook: webhooks.number, isSlow: webhooks.isSlow }),
    ],
    answer: null,
  });
  const messages = (isSlow: boolean) =>
    rows.filter((row) => row.isSlow === isSlow).map(({ account, webhook }) => ({ shard, account, webhook }));
  await sendAll(queues.queue, messages(false));
  await sendAll(queues.slowQueue, messages(true));
  return rows.length === MESSAGES;
}

async function sendAll(queue: Queue<WebhookMessage>, messages: WebhookMessage[]): Promise<void> {
  if (messages.length > 0) await queue.sendBatch(messages.map((body) => ({ body })));
}
