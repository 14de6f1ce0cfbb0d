import { DAY, HOUR, MINUTE } from '../../../lib/time';
import {
  findOffsets,
  firstTimeOf,
  formatterOf,
  lastTimeOf,
  MAX_OFFSET,
  modulo,
  offsetAt,
} from '../../../lib/time-zone';

/** The hours of every day in which a person gets no messages. */
export interface QuietHours {
  /** `HH:MM`, 24-hour. */
  start: string;
  /** `HH:MM`, 24-hour. An end before the start is on the next day. */
  end: string;
  /** A name of the IANA time zone database. */
  time_zone: string;
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
