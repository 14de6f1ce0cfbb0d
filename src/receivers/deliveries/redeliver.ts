import { Problem } from '../../errors';
import type { UserContext } from '../../http/context';
import { createDelivery, type DeliveryPresenter } from './create';
import type { FoundDelivery } from './delivery';
import { payloadOf } from './payload';

/**
 * Redelivers: creates a delivery of the same event to the same recipient.
 * @param presenter how the API shows the new delivery
 * @throws Problem `conflict` if the event is no longer kept, or as {@link createDelivery}
 */
export async function redeliverAs<T extends object>(
  context: UserContext,
  delivery: FoundDelivery,
  presenter: DeliveryPresenter<T>,
): Promise<T> {
  if (payloadOf(delivery, context.principal.account, context.runtime.now()) === null) {
    throw new Problem(
      'conflict',
      'The audit entry or the permission of the delivery is no longer kept.',
    );
  }
  const { receiver, event, pos, agent, payload, aboutPermission, reminder, member, slackChannel } =
    delivery;
  const columns = {
    receiver,
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
    { ...columns, original: delivery.original ?? delivery.id },
    presenter,
  );
}
