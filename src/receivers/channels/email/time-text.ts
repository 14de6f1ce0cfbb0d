import { DAY, HOUR, MINUTE, utcText } from '../../../lib/time';

/** A deadline: its time, and in about how long it is. */
export function deadlineText(time: string, now: number): string {
  const left = Date.parse(time) - now;
  if (left <= 0) return `${utcText(time)}, which is over`;
  return `${utcText(time)}, in about ${about(left)}`;
}

/**
 * A positive length of time, rounded to one unit: minutes up to an hour, hours up to two days, then
 * days.
 */
function about(milliseconds: number): string {
  const minutes = Math.round(milliseconds / MINUTE);
  if (minutes < 60) return count(Math.max(1, minutes), 'minute');
  const hours = Math.round(milliseconds / HOUR);
  if (hours < 48) return count(hours, 'hour');
  return count(Math.round(milliseconds / DAY), 'day');
}

/** A number of things: `1 hour`, `2 hours`. */
export function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}
