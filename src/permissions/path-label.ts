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
  return path.map(quoteKey).join('.');
}

/**
 * The label of the limit with this number. One of more than `max` characters is cut, and has the
 * number instead.
 */
export function shortPathLabel(label: string, number: number, max: number): string {
  const shown = shorten(label, max);
  if (shown === label) return label;
  return `${shown} (limit ${number})`;
}

function quoteKey(key: string): string {
  if (PLAIN_KEY.test(key)) return key;
  const text = JSON.stringify(key).slice(1, -1);
  // Another spelling of the same characters would look the same.
  const hidden = text === text.normalize() ? unseenPattern() : /[^ -~]/g;
  const escaped = text.replace(hidden, toEscapes);
  // Where there is no code type, the label stands between grave accents.
  return `"${escaped.replaceAll('`', toEscapes)}"`;
}

function toEscapes(characters: string): string {
  const units = characters.split('').map((unit) => unit.charCodeAt(0).toString(16));
  return units.map((hex) => `\\u${hex.padStart(4, '0')}`).join('');
}
