import type { DueDelivery } from '../deliveries/due';
import { isAsking } from './channel';

/**
 * Maximum number of single messages to one person that are due at the same time. More become one
 * digest.
 */
const MAX_SINGLE = 5;

/**
 * Divides due deliveries into messages: one for those of a digest, and one for each of the others,
 * or for all to a person who would get more than five. What is not sent any more is in no digest.
 * @param dropReason says why a delivery is not sent any more; null if it is
 */
export function divideByPerson(
  deliveries: readonly DueDelivery[],
  dropReason: (delivery: DueDelivery) => string | null,
): DueDelivery[][] {
  const isForDigest = (delivery: DueDelivery) =>
    delivery.member !== null && delivery.aboutPermission !== null && dropReason(delivery) === null;
  const groups = Map.groupBy(
    deliveries.filter(isForDigest),
    ({ member, digestGroup }) => `${member} ${digestGroup}`,
  );
  const digests = [...groups.values()].filter(
    ([first, ...others]) => others.length >= (first?.digestGroup === null ? MAX_SINGLE : 1),
  );
  const inDigest = new Set(digests.flat());
  return [
    ...deliveries.filter((delivery) => !inDigest.has(delivery)).map((delivery) => [delivery]),
    ...digests,
  ];
}

/**
 * Why nobody is asked for a decision any more; null if the message asks, or does not ask at all.
 */
export function reasonNotToAsk({
  event,
  permissionState,
}: Pick<DueDelivery, 'event' | 'permissionState'>): string | null {
  if (!isAsking(event)) return null;
  if (!permissionState?.isPending) return 'The request ended before the message was sent.';
  if (permissionState.hasVoted) return 'The recipient voted before the message was sent.';
  return null;
}
