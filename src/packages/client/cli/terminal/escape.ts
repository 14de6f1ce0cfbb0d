/**
 * Characters that act on a terminal or are not seen: blanks, control and format characters, such as
 * the bidirectional ones (UAX #9), those that are ignored in display, and some without a shape that
 * count as letters, symbols or marks.
 */
const CLASSES =
  '\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{White_Space}\\p{DI}\\p{NChar}\\u2800\\ufffc\\u{13441}\\u{13442}\\u{16fe4}\\u{1d159}';

/**
 * Matches these characters but U+0020, the selectors of emoji that are behind no pictograph, and
 * combining marks that have no character to stand on or are beyond the fourth of one.
 */
const UNSEEN = new RegExp(
  [
    `(?![ \\ufe0e\\ufe0f])[${CLASSES}]`,
    '(?<!\\p{ExtPict})[\\ufe0e\\ufe0f]',
    `(?<=(?:^|"|(?! )[${CLASSES}])\\p{M}{0,3})\\p{M}`,
    '(?<=\\p{M}{4})\\p{M}',
  ].join('|'),
  'gu',
);

/**
 * Turns a text of any origin into one line: each character that a terminal would act on becomes a
 * visible escape.
 */
export function escapeText(text: string): string {
  return text.replace(UNSEEN, nameOf);
}

/** Shows a text of several lines: line feeds stay, and a tab is two spaces. */
export function escapeLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => escapeText(line.replaceAll('\t', '  ')));
}

/**
 * Returns a value as JSON that prints as it is: unseen characters in its texts are escapes of JSON.
 */
export function printableJson(value: unknown, indent?: number): string {
  // Line feeds stay: JSON.stringify writes them between values only.
  return JSON.stringify(value, null, indent).replace(UNSEEN, (characters) =>
    characters === '\n' ? characters : toJsonEscapes(characters),
  );
}

/**
 * Returns a value as JSON on one line that looks like the JSON of no other value, however its
 * characters are composed.
 */
export function distinctJson(value: unknown): string {
  const json = printableJson(value);
  if (json === json.normalize()) return json;
  return json.replace(/[^ -~]/g, toJsonEscapes);
}

function toJsonEscapes(characters: string): string {
  const units = characters.split('').map((unit) => unit.charCodeAt(0).toString(16));
  return units.map((hex) => `\\u${hex.padStart(4, '0')}`).join('');
}

function nameOf(character: string): string {
  const short = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character];
  return short ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
