import { between, not, type SQL } from 'drizzle-orm';
import { trees } from '../../db/schema';
import { formatTime, MINUTE } from '../../lib/time';
import { CLOCK_SKEW } from './trust';

/** How long a request to go on with a restored log keeps that log from being sealed, in milliseconds. */
const HOLD = 2 * MINUTE;

/** When a hold that begins now ends: later than the one before, so that no two ends are the same. */
export function endOfHold(heldUntil: number, now: number): number {
  return isHeld(heldUntil, now) ? Math.max(now + HOLD, heldUntil + 1) : now + HOLD;
}

/** Whether a log is held. A hold that ends later than any request can have asked for does not count. */
function isHeld(heldUntil: number, now: number): boolean {
  return heldUntil > now && heldUntil <= latestEnd(now);
}

/** Chooses the rows of trees that are not held, by the same rule. */
export function notHeld(now: number): SQL {
  return not(between(trees.heldUntil, now + 1, latestEnd(now)));
}

/** @throws Error while what R2 holds of a tree is being set aside */
export function refuseHeld(heldUntil: number, now: number): void {
  if (isHeld(heldUntil, now)) throw new Error(`the tree is held until ${formatTime(heldUntil)}`);
}

function latestEnd(now: number): number {
  return now + HOLD + CLOCK_SKEW;
}
