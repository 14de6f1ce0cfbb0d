import { and, eq, type SQL, sql } from 'drizzle-orm';
import { ConstraintError } from '../../db/database';
import { agents, deliveries, type WebhookEvent, webhooks } from '../../db/schema';
import { Problem } from '../../errors';
import { newId, type UserContext } from '../../http/context';
import type { RecordWriter } from '../../ledger/ledger';
import type { Id } from '../../lib/typeid';
import { enqueueWebhook } from '../../outbox/enqueue';
import { DELIVERY_LIFETIME } from '../../outbox/feed';
import { isWebhook } from '../webhook';
import { type Delivery, presentDelivery } from './delivery';

/** What somebody asks to be sent to one webhook. */
export interface NewDelivery {
  event: WebhookEvent;
  original: Id<'dlv'> | null;
  pos: number | null;
  /** The agent that it tells of; nothing is sent of one that is gone. */
  agent: number | null;
  payload: string | null;
}

/**
 * Has something sent to a webhook on request, whatever its filters say.
 * @throws Problem `conflict` when the webhook is off, or what is to be sent is gone
 */
export async function createDelivery(
  { principal, runtime, ledger, config }: UserContext,
  webhook: Id<'webhook'>,
  order: NewDelivery,
): Promise<Delivery> {
  const account = principal.account.number;
  const now = runtime.now();
  const id = newId(runtime, 'dlv');
  const row = {
    ...order,
    id,
    status: 'pending' as const,
    attempts: 0,
    dueAt: now,
    lastStatusCode: null,
    lastError: null,
    completedAt: null,
    createdAt: now,
  };
  // NOT NULL: finds no webhook that is off, and none for an agent that is gone; nothing is written then.
  const agentIsThere =
    order.agent === null ? undefined : sql`exists (select 1 from ${agents} where number = ${order.agent})`;
  const target = (column: SQL) =>
    sql<number>`(select ${column} from ${webhooks} where ${and(isWebhook(account, webhook), eq(webhooks.isActive, true), agentIsThere)})`;
  const place = { webhook: target(sql`number`), generation: target(sql`generation`) };
  const delivery = presentDelivery(webhook, { ...row, isVoid: 0 });
  try {
    const [, [woken]] = await ledger.write({
      changes: (write) => [
        write.insert(deliveries).values({ ...row, ...place }),
        markDue(write, isWebhook(account, webhook), now).returning({
          number: webhooks.number,
          isSlow: webhooks.isSlow,
        }),
      ],
      answer: { value: delivery, subject: principal.account.id },
    });
    if (woken) await enqueueWebhook(config.webhooks, { shard: principal.shard, account, webhook: woken.number }, woken);
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    throw new Problem('conflict', 'The webhook is switched off, or what it would be sent is gone. Switch it on first.');
  }
  return delivery;
}

/** Notes that webhooks that are on have something to be sent at once, for whoever sends to them to see, or the sweep. */
export function markDue(write: Pick<RecordWriter, 'update'>, which: SQL | undefined, now: number) {
  return write
    .update(webhooks)
    .set({
      dueAt: sql`iif(lease is null, min(coalesce(due_at, ${now}), ${now}), due_at)`,
      eraseAt: sql`coalesce(erase_at, ${now + DELIVERY_LIFETIME})`,
    })
    .where(and(which, eq(webhooks.isActive, true)));
}
