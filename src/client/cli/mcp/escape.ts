/**
 * Matches characters that are invisible, or that change how the text around them looks: control and format characters,
 * such as the bidirectional ones (UAX #9), surrogates, and those that are ignored in display.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}]/gu;

/** Turns a text of any origin into one line: each unseen character becomes its code point, such as `[U+202E]`. */
export function escapeLine(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return `[U+${code}]`;
  });
}
