import { Problem } from '../../errors';
import type { UserContext } from '../../http/context';
import { createDelivery, type Receiver } from './create';
import type { FoundDelivery } from './delivery';
import { payloadOf } from './payload';

/**
 * Creates a delivery of the same event to the same recipient.
 * @throws Problem `conflict` if what it tells of is no longer kept, or as {@link createDelivery}
 */
export async function repeatDelivery<T extends object>(
  context: UserContext,
  delivery: FoundDelivery,
  receiver: Receiver<T>,
): Promise<T> {
  if (payloadOf(delivery, context.principal.account, context.runtime.now()) === null) {
    throw new Problem(
      'conflict',
      'The audit entry or the permission of the delivery is no longer kept.',
    );
  }
  const { webhook, event, pos, agent, payload, aboutPermission, reminder, member, slackChannel } =
    delivery;
  const repeated = {
    webhook,
    event,
    pos,
    agent,
    payload,
    permission: aboutPermission,
    reminder,
    member,
    slackChannel,
  };
  return createDelivery(
    context,
    { ...repeated, original: delivery.original ?? delivery.id },
    receiver,
  );
}
