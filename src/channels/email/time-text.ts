import { DAY, HOUR, MINUTE, utcText } from '../../lib/time';

/** A deadline: its time, and in about how long it is. */
export function deadlineText(time: string, now: number): string {
  const left = Date.parse(time) - now;
  return `${utcText(time)}, ${left > 0 ? `in about ${about(left)}` : 'which is over'}`;
}

/**
 * A positive length of time, rounded to one unit: minutes up to an hour, hours up to two days, then
 * days.
 */
function about(milliseconds: number): string {
  const [minutes, hours, days] = [MINUTE, HOUR, DAY].map((unit) =>
    Math.round(milliseconds / unit),
  ) as [number, number, number];
  if (minutes < 60) return count(Math.max(1, minutes), 'minute');
  return hours < 48 ? count(hours, 'hour') : count(days, 'day');
}

/** A number of things: `1 hour`, `2 hours`. */
export function count(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}
