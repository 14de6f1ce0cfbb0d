import { and, eq, sql } from 'drizzle-orm';
import { agents, type DeliveryEvent, deliveries, receivers } from '../../db/schema';
import { Problem } from '../../errors';
import { newId, type UserContext } from '../../http/context';
import { hasRow } from '../../ledger/guard';
import type { Id } from '../../lib/typeid';
import { enqueueMessage } from '../../outbox/enqueue';
import type { ReceiverNoun } from '../receiver';
import type { ShownDelivery } from './delivery';
import { markDue } from './pending';

/** A delivery that a client asks for. */
interface NewDelivery {
  /** The number of the receiver. */
  receiver: number;
  event: DeliveryEvent;
  /** The first delivery of the event; null if this is the first one. */
  original: Id<'dlv'> | null;
  /** The position of the audit entry in the log; null for other events. */
  pos: number | null;
  /** The number of the agent of the audit entry or the permission; null for other events. */
  agent: number | null;
  /**
   * Null for an audit entry, from which the payload is written, and for an event of a permission,
   * which has it.
   */
  payload: string | null;
  /** The further columns of a delivery by a channel: see the table. */
  permission?: Id<'perm'> | null;
  reminder?: number | null;
  member?: Id<'member'> | null;
  slackChannel?: string | null;
}

/** The API's noun for the receiver of a delivery, and how the API shows the delivery. */
export interface DeliveryPresenter<T> {
  noun: ReceiverNoun;
  present: (row: ShownDelivery) => T;
}

/**
 * Creates a delivery to one receiver, whatever its filters, and enqueues a message for
 * it.
 * @param furtherSlackChannels the Slack channels that get the same, each with a delivery of its own
 * @throws Problem `conflict` if the receiver is disabled or deleted, or the agent is deleted
 */
export async function createDelivery<T extends object>(
  { principal, runtime, ledger, config }: UserContext,
  { receiver, ...input }: NewDelivery,
  { noun, present }: DeliveryPresenter<T>,
  furtherSlackChannels: readonly string[] = [],
): Promise<T> {
  const account = principal.account.number;
  const now = runtime.now();
  const row = {
    ...input,
    id: newId(runtime, 'dlv'),
    status: 'pending' as const,
    attempts: 0,
    dueAt: now,
    lastStatusCode: null,
    lastError: null,
    completedAt: null,
    createdAt: now,
  };
  const isThis = and(eq(receivers.number, receiver), eq(receivers.account, account));
  const isDeliverable = and(
    isThis,
    eq(receivers.isActive, true),
    input.agent === null ? undefined : hasRow(agents, eq(agents.number, input.agent)),
  );
  const disableCount = sql<number>`(select ${receivers.disableCount} from ${receivers} where ${isThis})`;
  const receiverColumns = { receiver, disableCount };
  const delivery = present({ ...row, isCanceled: 0 });
  const further = furtherSlackChannels.map((slackChannel) => ({
    ...row,
    slackChannel,
    id: newId(runtime, 'dlv'),
  }));
  const [[due]] = await ledger.write({
    guards: [
      {
        name: 'receiver_is_active',
        holds: hasRow(receivers, isDeliverable),
        otherwise: () =>
          new Problem(
            'conflict',
            `The ${noun} is disabled, or the agent that the delivery is about is deleted.`,
          ),
      },
    ],
    changes: (write) => [
      markDue(write, isThis, now).returning({
        number: receivers.number,
        isSlow: receivers.isSlow,
      }),
      ...[row, ...further].map((each) =>
        write.insert(deliveries).values({ ...each, ...receiverColumns }),
      ),
    ],
    answer: { value: delivery, subject: principal.account.id },
  });
  if (due)
    await enqueueMessage(
      config.delivery,
      { shard: principal.shard, account, receiver: due.number },
      due,
    );
  return delivery;
}
