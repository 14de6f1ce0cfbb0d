import { parseDuration } from '../duration.ts';
import { findJsonLoss } from '../exact-json.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import { UsageError } from './failures.ts';
import { escapeText } from './terminal/escape.ts';

/** Reads the text of an option; undefined if the option is not given. */
export function readGiven<T>(
  read: (text: string, place: string) => T,
  text: string | undefined,
  place: string,
): T | undefined {
  if (text === undefined) return undefined;
  return read(text, place);
}

/**
 * Reads a length of time such as `90`, `90s`, `30m`, `12h` or `7d`, as seconds.
 * @throws UsageError
 */
export function readDuration(text: string, option: string): number {
  const seconds = parseDuration(text.replace(/^\d+$/, '$&s'));
  if (seconds !== null) return seconds;
  throw new UsageError(
    `--${option} ${escapeText(text)} is not a length of time, such as 90s, 30m, 12h or 7d.`,
  );
}

/** @throws UsageError for anything but a whole number of at least `min` */
export function readNumber(text: string, option: string, min = 1): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number >= min) return number;
  throw new UsageError(`--${option} ${escapeText(text)} is not a whole number of at least ${min}.`);
}

/**
 * @throws UsageError for anything but a number as JSON writes it, or one that a double would round
 */
export function readDecimal(text: string, option: string): number {
  const where = `--${option} ${escapeText(text)}`;
  const value = isJson(text) ? readJson(text, where) : null;
  if (typeof value === 'number') return value;
  throw new UsageError(`${where} is not a number.`);
}

/** @throws UsageError for anything but a JSON object */
export function readJsonObject(text: string, where: string): JsonObject {
  const value = readJson(text, where);
  if (isObject(value)) return value;
  throw new UsageError(`${where} is not a JSON object.`);
}

/** @throws UsageError for a text that is not JSON, or that parsing would change */
export function readJson(text: string, where: string): Json {
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
