import { DAY, HOUR, SECOND } from './time';

// A local time is written as a number too: the milliseconds since the epoch at which a clock in UTC
// would show it.

/** More than the greatest difference between the local time of any zone and UTC. */
export const MAX_OFFSET = 16 * HOUR;

/** Maximum number of formatters that are kept: to make one takes much longer than to use it. */
const MAX_FORMATTERS = 100;
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Whether `Intl` knows a time zone by this name. An offset such as `+01:00` is no name. */
export function isTimeZone(name: string): boolean {
  return formatterOf(name) !== null;
}

/**
 * The offsets from UTC before and after a change of the clocks. Without a change, they are equal.
 */
interface Offsets {
  before: number;
  after: number;
  change: number;
}

/** The first moment at which the clocks show a local time or a later one. */
export function firstTimeOf({ before, after, change }: Offsets, local: number): number {
  const early = local - before;
  return early < change ? early : Math.max(change, local - after);
}

/** The first moment after which the clocks show no earlier time than a local time. */
export function lastTimeOf({ before, after, change }: Offsets, local: number): number {
  const late = local - after;
  return late > change ? late : Math.min(change, local - before);
}

/**
 * Finds the change of the clocks between two times, which must be less than 6.9 days apart: since
 * 1970, no zone has changed its clocks twice in a shorter time.
 */
export function findOffsets(formatter: Intl.DateTimeFormat, start: number, end: number): Offsets {
  let [from, change] = [start, end];
  const [before, after] = [offsetAt(formatter, from), offsetAt(formatter, change)];
  // Changes happen at whole seconds.
  while (before !== after && change - from > SECOND) {
    const middle = from + Math.floor((change - from) / 2 / SECOND) * SECOND;
    if (offsetAt(formatter, middle) === before) from = middle;
    else change = middle;
  }
  return { before, after, change };
}

/** Returns the offset of the local time from UTC, in milliseconds. */
export function offsetAt(formatter: Intl.DateTimeFormat, at: number): number {
  const second = at - modulo(at, SECOND);
  const field = Object.fromEntries(
    formatter.formatToParts(second).map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second: seconds = 0 } = field;
  return Date.UTC(year, month - 1, day, hour, minute, seconds) - second;
}

/** The first moment at which the clocks of a zone show a local time or a later one. */
export function momentOf(formatter: Intl.DateTimeFormat, local: number): number {
  const margin = MAX_OFFSET + DAY;
  return firstTimeOf(findOffsets(formatter, local - margin, local + margin), local);
}

export function modulo(dividend: number, divisor: number): number {
  return ((dividend % divisor) + divisor) % divisor;
}

/** A formatter of the date and time in a zone; null for an unknown zone. */
export function formatterOf(timeZone: string): Intl.DateTimeFormat | null {
  const kept = formatters.get(timeZone);
  if (kept) return kept;
  if (!/^[A-Za-z]/.test(timeZone)) return null;
  const formatter = makeFormatter(timeZone);
  if (!formatter) return null;
  if (formatters.size >= MAX_FORMATTERS) formatters.clear();
  formatters.set(timeZone, formatter);
  return formatter;
}

function makeFormatter(timeZone: string): Intl.DateTimeFormat | null {
  const numeric = 'numeric';
  const date = { year: numeric, month: numeric, day: numeric } as const;
  const time = { hour: numeric, minute: numeric, second: numeric, hourCycle: 'h23' } as const;
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone, ...date, ...time });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
