import { lazy } from './lazy';

// Which characters a person cannot see in a text. Two texts that differ only in these look the
// same.

/**
 * Characters without a shape that count as letters, symbols or marks, so no property of Unicode
 * tells them apart.
 */
const SHAPELESS = '\\u2800\\ufffc\\u{13441}\\u{13442}\\u{16fe4}\\u{1d159}';

/** Blanks, and characters that show nothing or change how the text around them looks (UAX #9). */
const UNSEEN = `\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{White_Space}\\p{DI}\\p{NChar}${SHAPELESS}`;

/**
 * The selectors of text and emoji: behind a pictograph they choose how it looks, elsewhere they
 * show nothing.
 */
const SELECTORS = '\\ufe0e\\ufe0f';

/** Matches an unseen character, except those that a text may have. */
function unseenExcept(allowed: string): string {
  return `(?![${allowed}${SELECTORS}])[${UNSEEN}]|(?<!\\p{ExtPict})[${SELECTORS}]`;
}

/**
 * Matches a combining mark that has no character to stand on, such as at the start of a quoted
 * text, or that is beyond the fourth of one character.
 */
const STRAY_MARK = `(?<=(?:^|"|(?! )[${UNSEEN}])\\p{M}{0,3})\\p{M}|(?<=\\p{M}{4})\\p{M}`;

// Made when they are first needed, because classes of Unicode are large.
const patterns = lazy(() => ({
  unseen: new RegExp(unseenExcept(' '), 'u'),
  blankEnd: new RegExp(`^[${UNSEEN}]|(?![${SELECTORS}])[${UNSEEN}]$`, 'u'),
  seen: new RegExp(`[^\\p{C}\\p{Z}${UNSEEN}]`, 'u'),
  inLine: new RegExp(`${unseenExcept(' ')}|${STRAY_MARK}`, 'gu'),
  inLines: new RegExp(`${unseenExcept(' \\t\\n')}|${STRAY_MARK}`, 'gu'),
}));

/** Whether the text is one line, or may have line feeds and tabs. */
export interface Lines {
  hasLines?: boolean;
}

/**
 * Says why a text could be taken for another one that looks the same; null if every character of it
 * is seen.
 */
export function unseenFault(text: string): string | null {
  const { blankEnd, unseen } = patterns();
  if (blankEnd.test(text)) return 'must not begin or end with a blank';
  const [character] = unseen.exec(text) ?? [];
  return character === undefined
    ? null
    : `must not contain ${nameCharacter(character)}, which cannot be seen`;
}

/** Whether a single character cannot be seen, or is a blank other than U+0020. */
export function isUnseen(character: string): boolean {
  return patterns().unseen.test(character);
}

/** Whether a text has a character that is seen. */
export function hasSeen(text: string): boolean {
  return patterns().seen.test(text);
}

/**
 * Matches every character that has to be shown as its code point: blanks but U+0020, characters
 * that are invisible or change the direction, and combining marks without a base or beyond the
 * fourth of one. The expression is global.
 */
export function unseenPattern({ hasLines = false }: Lines = {}): RegExp {
  return hasLines ? patterns().inLines : patterns().inLine;
}

/** Shows each character of {@link unseenPattern} as its code point. */
export function showUnseen(text: string, lines?: Lines): string {
  return text.replace(unseenPattern(lines), nameCharacter);
}

/** How an unseen character is shown: as its code point, such as `U+202E`. */
export function nameCharacter(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
