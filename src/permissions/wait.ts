import { SECOND } from '../lib/time';

/**
 * The pauses between two reads of a pending permission that a client waits for, in milliseconds.
 */
const PAUSES = [0.5 * SECOND, SECOND, 2 * SECOND, 3 * SECOND, 4 * SECOND];
const LAST_PAUSE = 5 * SECOND;

/** The pause, in milliseconds, after so many further reads of a pending permission. */
export function pauseAfter(reads: number): number {
  return PAUSES[reads] ?? LAST_PAUSE;
}
