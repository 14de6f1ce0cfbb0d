/**
 * Matches characters that are invisible, or that change how the text around them looks: control and format characters, such
 * as the bidirectional ones (UAX #9), and those that are ignored in display. Does not match the selectors of emoji.
 */
export const UNSEEN = /(?!\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]/gu;

/** Matches the same characters except line feeds and tabs, which a text of several lines may have. */
export const UNSEEN_IN_LINES = /(?!\t|\n|\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]/gu;

/** How an unseen character is shown: as its code point, such as `U+202E`. */
export function nameCharacter(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
