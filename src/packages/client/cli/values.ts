import { parseDuration } from '../duration.ts';
import { findJsonLoss } from '../exact-json.ts';
import { UsageError } from './failures.ts';
import { escapeText } from './terminal/escape.ts';

/**
 * Reads a length of time such as `90`, `90s`, `30m`, `12h` or `7d`, as seconds.
 * @throws UsageError
 */
export function readDuration(text: string, option: string): number {
  const seconds = parseDuration(/^\d+$/.test(text) ? `${text}s` : text);
  if (seconds !== null) return seconds;
  throw new UsageError(
    `--${option} ${escapeText(text)} is not a length of time, such as 90s, 30m, 12h or 7d.`,
  );
}

/** @throws UsageError for anything but a whole number of at least `min` */
export function readNumber(text: string, option: string, min = 1): number {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(number) && number >= min) return number;
  throw new UsageError(`--${option} ${escapeText(text)} is not a whole number of at least ${min}.`);
}

/** @throws UsageError for anything but a JSON object */
export function readJsonObject(text: string, where: string): Record<string, unknown> {
  const value = readJson(text, where);
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new UsageError(`${where} is not a JSON object.`);
}

/** @throws UsageError for a text that is not JSON, or that parsing would change */
export function readJson(text: string, where: string): unknown {
  if (!isJson(text)) throw new UsageError(`${where} is not JSON.`);
  const loss = findJsonLoss(text);
  if (loss !== null)
    throw new UsageError(`${where} cannot be sent as it is written. ${escapeText(loss)}`);
  return JSON.parse(text);
}

/** Whether a text is JSON, which parsing may change. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
