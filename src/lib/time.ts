export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|[+-](\d{2}):(\d{2}))$/;

const FIRST_TIME = Date.parse('0000-01-01T00:00:00.000Z');
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

/** Formats milliseconds since the epoch as ISO 8601, in UTC with milliseconds. */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The day of a time in UTC, such as `2026-01-31`, or the day that is some days before it. */
export function dayText(ms: number, before = 0): string {
  return formatTime(ms - before * DAY).slice(0, 10);
}

/** Says a time of ISO 8601 in UTC to the minute, such as `2026-01-31 12:00 UTC`. */
export function utcText(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;
}

export function formatTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : formatTime(ms);
}

/**
 * Parses a date-time of RFC 3339 section 5.6. The offset is required.
 * @returns milliseconds since the epoch, rounded up (stored times are whole milliseconds); null if
 *   the text has another form, if its day or time does not exist, or if it is outside of the years
 *   0000 to 9999 in UTC
 */
export function parseDateTime(text: string): number | null {
  const match = DATE_TIME.exec(text);
  if (!match) return null;
  const [
    ,
    year,
    month,
    day,
    hour,
    minute,
    second,
    fraction = '',
    offsetHour = '0',
    offsetMinute = '0',
  ] = match;
  if (!dayExists(Number(year), Number(month), Number(day))) return null;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return null;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return null;
  // Date.parse does not accept leap seconds; this one counts as the first second of the next
  // minute.
  const leap = Number(second) === 60;
  const plain = text.toUpperCase().replace(' ', 'T');
  const parsed = Date.parse(
    leap ? `${plain.slice(0, 17)}59${plain.slice(19).replace(/\.\d+/, '')}` : plain,
  );
  const beyond = leap || !/[1-9]/.test(fraction.slice(3)) ? 0 : 1;
  const time = (leap ? parsed + SECOND : parsed) + beyond;
  // The offset can lead to a year outside of 0000 to 9999.
  if (!(time >= FIRST_TIME && time <= LAST_TIME)) return null;
  return leap && !isMonthStart(time) ? null : time;
}

/** Leap seconds occur only at the end of a month in UTC (RFC 3339 section 5.7). */
function isMonthStart(time: number): boolean {
  return time % DAY === 0 && new Date(time).getUTCDate() === 1;
}

/**
 * Parses a full-date `YYYY-MM-DD` as its midnight in UTC; null if the form is wrong or the day does
 * not exist.
 */
export function parseDate(text: string): number | null {
  const match = DATE.exec(text);
  if (!match) return null;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  return dayExists(year, month, day) ? Date.parse(`${text}T00:00:00Z`) : null;
}

function dayExists(year: number, month: number, day: number): boolean {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return (
    date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  );
}
