/** Whether a text has more than so many Unicode code points. Looks at no more of it than that. */
export function isLongerThan(text: string, max: number): boolean {
  // A code point takes one or two code units.
  return text.length > 2 * max || (text.length > max && [...text].length > max);
}

/** The first code points of a text, with an ellipsis where there are more; well-formed. */
export function shorten(text: string, max: number): string {
  if (!isLongerThan(text, max)) return text.toWellFormed();
  // Two code units more than are needed: where the last of them is half a character, it is left out.
  const start = text.slice(0, 2 * max + 2).toWellFormed();
  return `${[...start].slice(0, max).join('')}…`;
}
