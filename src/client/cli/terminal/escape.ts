/**
 * Matches characters that act on a terminal or are invisible: control and format characters, such as the bidirectional
 * ones (UAX #9), and those that are ignored in display. Does not match the selectors of emoji.
 */
const UNSEEN = /(?!\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{DI}]/gu;

/** Turns a text of any origin into one line: each character that a terminal would act on becomes a visible escape. */
export function escapeText(text: string): string {
  return text.replace(UNSEEN, nameOf);
}

/** Shows a text of several lines: line feeds stay, and a tab is two spaces. */
export function escapeLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => escapeText(line.replaceAll('\t', '  ')));
}

/** Returns a value as JSON that prints as it is: unseen characters in its texts are escapes of JSON. */
export function printableJson(value: unknown, indent?: number): string {
  // Line feeds stay: JSON.stringify writes them between values only.
  return JSON.stringify(value, null, indent).replace(UNSEEN, (character) =>
    character === '\n'
      ? character
      : [...Array(character.length).keys()]
          .map((index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`)
          .join(''),
  );
}

function nameOf(character: string): string {
  const short = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character];
  return short ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
