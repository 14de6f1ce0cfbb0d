import { sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { webhookFeeds, webhooks } from '../../db/schema';
import type { WebhookConfig, WebhookMessage } from '../../env';
import type { Ledger } from '../../ledger/ledger';
import { SECOND } from '../../lib/time';
import { LEASE } from './limits';

/** Messages that one slice sends, which is as many as a queue takes at once. */
const MESSAGES = 100;
export interface SweepContext {
  shard: string;
  reader: Reader;
  ledger: Ledger;
  queues: Pick<WebhookConfig, 'queue' | 'slowQueue'>;
  now: number;
}

/** A webhook that is due soon, or an account of whose news deliveries are to be made. */
interface Upcoming {
  account: number;
  /** 0 for the account itself. */
  webhook: number;
  isSlow: boolean;
  dueAt: number;
}

/**
 * Sends messages for what is due within the length of a lease, each delayed until then.
 *
 * A killed worker leaves a lease, and a lost queue what the sweep has put off: both are taken up as soon as their time is
 * over, not by the sweep of a minute later. Where a worker lives, or a message is on its way already, a message does
 * nothing.
 */
export class UpcomingDeliveries {
  private last: Pick<Upcoming, 'account' | 'webhook' | 'dueAt'> | null = null;
  private end: number | null = null;

  constructor(private readonly open: () => SweepContext) {}

  /**
   * Sends the next slice of messages.
   * @returns whether there may be more
   */
  async sendSlice(): Promise<boolean> {
    const { shard, reader, queues, now } = this.open();
    // What this run of the sweep puts off itself is beyond the end.
    this.end ??= now + LEASE;
    const { dueAt, account, webhook } = this.last ?? { dueAt: now + 1, account: 0, webhook: 0 };
    const isNext = sql`due_at is not null and due_at >= ${dueAt} and due_at < ${this.end}`;
    const upcoming = sql`(
      select account, 0 as webhook, 0 as is_slow, due_at from webhook_feeds indexed by webhook_feeds_due where ${isNext}
      union all
      select account, number, is_slow, due_at from webhooks indexed by webhooks_due where ${isNext}
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
    this.last = rows.at(-1) ?? this.last;
    const messages = (lane: boolean) =>
      rows
        .filter(({ isSlow }) => isSlow === lane)
        .map((row) => ({
          body: { shard, account: row.account, ...(row.webhook !== 0 && { webhook: row.webhook }) },
          delaySeconds: Math.max(0, Math.ceil((row.dueAt - now) / SECOND)),
        }));
    await sendAll(queues.queue, messages(false));
    await sendAll(queues.slowQueue, messages(true));
    return rows.length === MESSAGES;
  }
}

/**
 * Sends a hint for a slice of the accounts in which something has happened that no delivery was made of. Each is put off
 * by a lease, so that one that cannot be served holds up no other.
 * @returns whether there may be more
 */
export async function enqueuePendingEvents({ shard, ledger, queues, now }: SweepContext): Promise<boolean> {
  const due = sql`(
    select account from webhook_feeds indexed by webhook_feeds_due
    where due_at is not null and due_at <= ${now} order by due_at limit ${MESSAGES}
  )`;
  const [feeds] = await ledger.write({
    changes: (write) => [
      write
        .update(webhookFeeds)
        .set({ dueAt: now + LEASE })
        .where(sql`${webhookFeeds.account} in ${due}`)
        .returning({ account: webhookFeeds.account }),
    ],
  });
  await sendAll(
    queues.queue,
    feeds.map(({ account }) => ({ body: { shard, account } })),
  );
  return feeds.length === MESSAGES;
}

/**
 * Sends a hint for a slice of the webhooks to which something is due to be sent, and frees those whose lease is over:
 * whoever had it is gone.
 * @returns whether there may be more
 */
export async function enqueueDueDeliveries({ shard, ledger, queues, now }: SweepContext): Promise<boolean> {
  const due = sql`(
    select number from webhooks indexed by webhooks_due
    where due_at is not null and due_at <= ${now} order by due_at limit ${MESSAGES}
  )`;
  const [rows] = await ledger.write({
    changes: (write) => [
      write
        .update(webhooks)
        .set({ lease: null, dueAt: now + LEASE })
        .where(sql`${webhooks.number} in ${due}`)
        .returning({ account: webhooks.account, webhook: webhooks.number, isSlow: webhooks.isSlow }),
    ],
  });
  const messages = (isSlow: boolean) =>
    rows.filter((row) => row.isSlow === isSlow).map(({ account, webhook }) => ({ body: { shard, account, webhook } }));
  await sendAll(queues.queue, messages(false));
  await sendAll(queues.slowQueue, messages(true));
  return rows.length === MESSAGES;
}

async function sendAll(queue: Queue<WebhookMessage>, messages: MessageSendRequest<WebhookMessage>[]): Promise<void> {
  if (messages.length > 0) await queue.sendBatch(messages);
}
