import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/time';

/** The hours of every day in which a person gets no messages. */
export interface QuietHours {
  /** `HH:MM`, 24-hour. */
  start: string;
  /** `HH:MM`, 24-hour. An end before the start is on the next day. */
  end: string;
  /** A name of the IANA time zone database. */
  time_zone: string;
}

// A local time is written as a number too: the milliseconds since the epoch at which a clock in UTC
// would show it.

/** More than the greatest difference between the local time of any zone and UTC. */
const MAX_OFFSET = 16 * HOUR;

/** Maximum number of formatters that are kept: to make one takes much longer than to use it. */
const MAX_FORMATTERS = 100;
const formatters = new Map<string, Intl.DateTimeFormat>();

/** Whether `Intl` knows a time zone by this name. An offset such as `+01:00` is no name. */
export function isTimeZone(name: string): boolean {
  return formatterOf(name) !== null;
}

/**
 * Returns when the quiet hours around `at` end, in milliseconds since the epoch; null if `at` is
 * not quiet, or the time zone is unknown. The start is quiet, the end is not.
 *
 * Where the clocks of the zone are changed, quiet hours last from the first moment at which a clock
 * shows the start or a later time, until the last moment at which a clock shows a time before the
 * end:
 * - A start or end that the clocks skip is the moment of the skip.
 * - If the clocks show the start twice, the first one counts; if they show the end twice, the last
 *   one.
 * - Quiet hours that thereby touch the next ones end with those.
 */
export function endOfQuietHours(
  settings: { quiet_hours: QuietHours | null } | null,
  at: number,
): number | null {
  const hours = settings?.quiet_hours;
  const formatter = hours && formatterOf(hours.time_zone);
  if (!formatter) return null;
  const start = timeOfDay(hours.start);
  const end = timeOfDay(hours.end) + (hours.end < hours.start ? DAY : 0);
  const local = at + offsetAt(formatter, at);
  const today = local - modulo(local, DAY);
  const offsets = findOffsets(
    formatter,
    today - 2 * DAY - MAX_OFFSET,
    today + 3 * DAY + MAX_OFFSET,
  );
  // Quiet hours of the next day may have begun already: clocks that are set back at midnight show
  // today's date again.
  const ends = [-2, -1, 0, 1]
    .map((days) => today + days * DAY)
    .filter((day) => firstTimeOf(offsets, day + start) <= at)
    .map((day) => lastTimeOf(offsets, day + end))
    .filter((time) => at < time);
  if (ends.length === 0) return null;
  const latest = Math.max(...ends);
  return endOfQuietHours(settings, latest) ?? latest;
}

function timeOfDay(text: string): number {
  return Number(text.slice(0, 2)) * HOUR + Number(text.slice(3)) * MINUTE;
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
function firstTimeOf({ before, after, change }: Offsets, local: number): number {
  const early = local - before;
  return early < change ? early : Math.max(change, local - after);
}

/** The first moment after which the clocks show no earlier time than a local time. */
function lastTimeOf({ before, after, change }: Offsets, local: number): number {
  const late = local - after;
  return late > change ? late : Math.min(change, local - before);
}

/**
 * Finds the change of the clocks between two times, which must be less than 6.9 days apart: since
 * 1970, no zone has changed its clocks twice in a shorter time.
 */
function findOffsets(formatter: Intl.DateTimeFormat, start: number, end: number): Offsets {
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
function offsetAt(formatter: Intl.DateTimeFormat, at: number): number {
  const second = at - modulo(at, SECOND);
  const field = Object.fromEntries(
    formatter.formatToParts(second).map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second: seconds = 0 } = field;
  return Date.UTC(year, month - 1, day, hour, minute, seconds) - second;
}

function modulo(dividend: number, divisor: number): number {
  return ((dividend % divisor) + divisor) % divisor;
}

/** A formatter of the date and time in a zone; null for an unknown zone. */
function formatterOf(timeZone: string): Intl.DateTimeFormat | null {
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
