import { between, not, type SQL } from 'drizzle-orm';
import { trees } from '../../../db/schema';
import { formatTime, MINUTE } from '../../../lib/time';
import { CLOCK_SKEW } from '../trust';

// After a database was restored to an earlier time, a restoration lets a log of it continue. While
// it moves objects of the log's tree in R2, it holds the tree: nothing of the log is sealed. A hold
// expires by itself.

/** How long one request of a restoration holds a tree, in milliseconds. */
export const HOLD_DURATION = 2 * MINUTE;

/**
 * When a hold that begins now ends.
 * @param heldUntil the end of the hold before: if that still lasts, the new end is later, so that
 *   the two differ
 */
export function endOfHold(heldUntil: number, now: number): number {
  const end = now + HOLD_DURATION;
  if (!isHeld(heldUntil, now)) return end;
  return Math.max(end, heldUntil + 1);
}

/** @throws Error while the tree is held */
export function requireTreeNotHeld({ heldUntil }: { heldUntil: number }, now: number): void {
  if (isHeld(heldUntil, now)) throw new Error(`the tree is held until ${formatTime(heldUntil)}`);
}

/** The SQL condition that a tree is not held. */
export function isTreeNotHeld(now: number): SQL {
  return not(between(trees.heldUntil, now + 1, latestEnd(now)));
}

/**
 * Whether a tree is held. An end that no request can have set is ignored, so that it never blocks a
 * tree for good.
 */
function isHeld(heldUntil: number, now: number): boolean {
  return heldUntil > now && heldUntil <= latestEnd(now);
}

function latestEnd(now: number): number {
  return now + HOLD_DURATION + CLOCK_SKEW;
}
