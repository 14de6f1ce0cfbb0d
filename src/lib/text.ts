/** Whether a text has more than `max` Unicode code points. Reads at most 2 × `max` code units. */
export function isLongerThan(text: string, max: number): boolean {
  // A code point takes one or two code units.
  return text.length > 2 * max || (text.length > max && [...text].length > max);
}

/**
 * A text as well-formed Unicode. If it has more than `max` code points, an ellipsis replaces the
 * rest.
 */
export function shorten(text: string, max: number): string {
  if (!isLongerThan(text, max)) return text.toWellFormed();
  // Two extra code units, so that a surrogate pair cut at the end is not among the first `max`
  // characters.
  const start = text.slice(0, 2 * max + 2).toWellFormed();
  return `${[...start].slice(0, max).join('')}…`;
}

/**
 * A text with A to Z in lower case, as SQLite compares texts by NOCASE. Other letters stay as they
 * are: those that look alike, or that Unicode folds into ASCII, may belong to somebody else.
 */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
