import { and, type Column, eq, sql } from 'drizzle-orm';
import { ConstraintError } from '../../db/database';
import { agents, deliveries, type WebhookEvent, webhooks } from '../../db/schema';
import { Problem } from '../../errors';
import { newId, type UserContext } from '../../http/context';
import type { Id } from '../../lib/typeid';
import { enqueueWebhook } from '../../outbox/enqueue';
import { isWebhook } from '../webhook';
import { type Delivery, presentDelivery } from './delivery';
import { markDue } from './pending';

/** A delivery that a client asks for. */
interface NewDelivery {
  webhookId: Id<'webhook'>;
  event: WebhookEvent;
  /** The first delivery of the event; null if this is the first one. */
  original: Id<'dlv'> | null;
  /** The position of the audit entry in the log, and the number of its agent; null for other events. */
  pos: number | null;
  agent: number | null;
  /** Null for an audit entry, from which the payload is written at each attempt. */
  payload: string | null;
}

/**
 * Creates a delivery to one webhook, whatever its filters, and enqueues a message for it.
 * @throws Problem `conflict` if the webhook is disabled or deleted, or the agent of the entry is deleted
 */
export async function createDelivery(
  { principal, runtime, ledger, config }: UserContext,
  { webhookId, ...input }: NewDelivery,
): Promise<Delivery> {
  const account = principal.account.number;
  const now = runtime.now();
  const id = newId(runtime, 'dlv');
  const row = {
    ...input,
    id,
    status: 'pending' as const,
    attempts: 0,
    dueAt: now,
    lastStatusCode: null,
    lastError: null,
    completedAt: null,
    createdAt: now,
  };
  const hasAgent =
    input.agent === null ? undefined : sql`exists (select 1 from ${agents} where number = ${input.agent})`;
  const isDeliverable = and(isWebhook(account, webhookId), eq(webhooks.isActive, true), hasAgent);
  // NULL if the webhook is disabled or the agent is deleted: the NOT NULL columns abort the transaction.
  const find = (column: Column) => sql<number>`(select ${column} from ${webhooks} where ${isDeliverable})`;
  const target = { webhook: find(webhooks.number), disableCount: find(webhooks.disableCount) };
  const delivery = presentDelivery(webhookId, { ...row, isCanceled: 0 });
  try {
    const [, [due]] = await ledger.write({
      changes: (write) => [
        write.insert(deliveries).values({ ...row, ...target }),
        markDue(write, isWebhook(account, webhookId), now).returning({
          number: webhooks.number,
          isSlow: webhooks.isSlow,
        }),
      ],
      answer: { value: delivery, subject: principal.account.id },
    });
    if (due) await enqueueWebhook(config.webhooks, { shard: principal.shard, account, webhook: due.number }, due);
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error;
    throw new Problem('conflict', 'The webhook is disabled, or the agent of the audit entry is deleted.');
  }
  return delivery;
}
