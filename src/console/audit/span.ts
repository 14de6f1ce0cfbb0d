import { DAY, formatTime, HOUR, MINUTE, SECOND } from '../../lib/time';
import { FIRST_MONDAY } from './period';

/**
 * The bars of a timeline, all of the same length, from a time until before another one, in
 * milliseconds since the epoch.
 */
export interface Span {
  from: number;
  to: number;
  /** The length of a bar. */
  step: number;
}

/** How long a bar may be: lengths after which people count time. */
const STEPS = [
  ...[1, 5, 15, 30].map((count) => count * SECOND),
  ...[1, 5, 15, 30].map((count) => count * MINUTE),
  ...[1, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 7, 28].map((count) => count * DAY),
];

const MAX_BARS = 96;
/** How far back a timeline goes if no start is chosen. */
const DEFAULT_LENGTH = 7 * DAY;

/**
 * The span of the timeline for a range of time. Either end of the range may be open. The span
 * begins and ends with whole bars, so it may be a little longer than the range.
 * @param kept the earliest time of entries that the account keeps
 */
export function timelineSpan(
  range: { start?: number; end?: number },
  { now, kept }: { now: number; kept: number },
): Span {
  const end = Math.min(range.end ?? now + 1, now + 1);
  const start = Math.max(range.start ?? end - DEFAULT_LENGTH, kept);
  const [from, to] = start < end ? [start, end] : [end - DAY, end];
  const step = STEPS.find((step) => (to - from) / step <= MAX_BARS - 2) ?? (STEPS.at(-1) as number);
  // Bars begin at multiples of their length after a Monday.
  const count = (time: number) => (time - FIRST_MONDAY) / step;
  return {
    from: Math.floor(count(from)) * step + FIRST_MONDAY,
    to: Math.ceil(count(to)) * step + FIRST_MONDAY,
    step,
  };
}

/**
 * The filters that select a range. A range that has not ended yet stays open, so that new entries
 * appear.
 */
export function selectRange({ from, to }: Pick<Span, 'from' | 'to'>, now: number) {
  return { start_date: formatShort(from), end_date: to > now ? null : formatShort(to) };
}

/** The ranges next to a span, and one around it; false where there is nothing more. */
export function rangesAround({ from, to }: Span, { now, kept }: { now: number; kept: number }) {
  const length = to - from;
  return {
    earlier: from > kept && { from: from - length, to: from },
    later: to <= now && { from: to, to: to + length },
    wider: (from > kept || to <= now) && { from: Math.max(from - length, kept), to: to + length },
  };
}

function formatShort(time: number): string {
  return formatTime(time).replace('.000Z', 'Z');
}

/** A length of bars for people, such as `15 minutes`. */
export function stepText(step: number): string {
  const units = Object.entries({ day: DAY, hour: HOUR, minute: MINUTE, second: SECOND });
  const [name, unit] = units.find(([, unit]) => step >= unit) ?? ['second', SECOND];
  const count = step / unit;
  if (count === 1) return `one ${name}`;
  return `${count} ${name}s`;
}
