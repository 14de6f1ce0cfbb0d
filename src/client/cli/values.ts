import { parseDuration } from '../duration.ts';
import { UsageError } from './failures.ts';
import { escapeText } from './terminal/escape.ts';

/**
 * Reads a length of time such as `90`, `90s`, `30m`, `12h` or `7d`, as seconds.
 * @throws UsageError
 */
export function readDuration(text: string, option: string): number {
  const seconds = parseDuration(/^\d+$/.test(text) ? `${text}s` : text);
  if (seconds !== null) return seconds;
  throw new UsageError(`--${option} ${escapeText(text)} is not a length of time, such as 90s, 30m, 12h or 7d.`);
}

/** @throws UsageError for anything but a whole number of at least `min` */
export function readNumber(text: string, option: string, min = 1): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= min) return number;
  throw new UsageError(`--${option} ${escapeText(text)} is not a whole number of at least ${min}.`);
}

/** @throws UsageError for anything but a JSON object */
export function readJsonObject(text: string, where: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Told below.
  }
  throw new UsageError(`${where} is not a JSON object.`);
}
