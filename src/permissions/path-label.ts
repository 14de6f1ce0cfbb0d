import { shorten } from '../lib/text';
import { unseenPattern } from '../lib/unseen';

/** A key that looks like no other: every other one is quoted. */
const PLAIN_KEY = /^[A-Za-z0-9_-]+$/;

/**
 * How a limit is named wherever people read it: the keys that lead to it, with full stops between,
 * such as `payment.max`. A key with other characters than ASCII letters, digits, `_` and `-` is a
 * JSON string, in which characters that cannot be seen are escapes. So different paths have
 * different labels, also after Unicode normalization, and no label looks like words of the service.
 */
export function pathLabel(path: readonly string[]): string {
  return path.map((key) => (PLAIN_KEY.test(key) ? key : quoteKey(key))).join('.');
}

/**
 * The label of the limit with this number. One of more than `max` characters is cut, and has the
 * number instead.
 */
export function shortPathLabel(label: string, number: number, max: number): string {
  const shown = shorten(label, max);
  return shown === label ? label : `${shown} (limit ${number})`;
}

function quoteKey(key: string): string {
  const text = JSON.stringify(key).slice(1, -1);
  // Another spelling of the same characters would look the same.
  const escaped =
    text === text.normalize()
      ? text.replace(unseenPattern(), toEscapes)
      : text.replace(/[^ -~]/g, toEscapes);
  // Where there is no code type, the label stands between grave accents.
  return `"${escaped.replaceAll('`', toEscapes)}"`;
}

function toEscapes(characters: string): string {
  const units = Array.from({ length: characters.length }, (_, index) =>
    characters.charCodeAt(index),
  );
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
