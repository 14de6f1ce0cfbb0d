import type { Runtime } from '../../env';
import { DAY, HOUR, MINUTE, SECOND } from '../../lib/time';

/** The waits after each failed attempt, before chance has its part. */
export const STEPS = [
  ...[5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR],
  ...[14 * HOUR, 20 * HOUR, DAY],
];

/** By which part of itself a wait is longer or shorter, at most: so that what failed together is not tried together. */
const JITTER = 0.2;

/** A webhook all of whose attempts failed for this long is switched off. */
export const DISABLE_AFTER = 5 * DAY;

/**
 * How long to wait after an attempt that failed, in milliseconds; null when it was the last.
 * @param attempts how many there were
 * @param retryAfter what the receiver asked for, in milliseconds; it is heard up to the next step
 */
export function nextWait(runtime: Runtime, attempts: number, retryAfter: number | null): number | null {
  const step = STEPS[attempts - 1];
  if (step === undefined) return null;
  const [high = 0, low = 0] = runtime.random(2);
  const chance = (high * 256 + low) / 65_535;
  const wait = Math.round(step * (1 - JITTER + 2 * JITTER * chance));
  return Math.max(wait, Math.min(retryAfter ?? 0, STEPS[attempts] ?? step));
}

/** Reads a `Retry-After` header (RFC 9110 section 10.2.3) as milliseconds from now; null where there is none. */
export function readRetryAfter(text: string | null, now: number): number | null {
  if (text === null) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND;
  const time = / GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? null : Math.max(0, time - now);
}
