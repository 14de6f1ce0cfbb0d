const graphemes = new Intl.Segmenter();

/** Characters of two columns: of East Asian scripts (UAX #11), and pictures. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|^\p{Emoji_Presentation}/u;

/** The number of columns that an escaped text takes on a terminal. */
export function widthOf(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += columnsOf(segment);
  return width;
}

function columnsOf(segment: string): number {
  return WIDE.test(segment) ? 2 : 1;
}

/** Shortens an escaped text to so many columns; an ellipsis stands for what is cut. */
export function fitWidth(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let fitted = '';
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += columnsOf(segment);
    if (width > columns - 1) break;
    fitted += segment;
  }
  if (columns <= 0) return '';
  return `${fitted}…`;
}

/**
 * Breaks an escaped text into lines of at most so many columns, between words where there are any.
 */
export function wrapText(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  let width = 0;
  let space = 0;
  for (const { segment } of graphemes.segment(text)) {
    const step = columnsOf(segment);
    if (width + step > columns && line) {
      const end = segment === ' ' || space === 0 ? line.length : space;
      lines.push(line.slice(0, end));
      line = line.slice(end).trimStart();
      width = widthOf(line);
      space = 0;
      // The space at which the line was broken.
      if (segment === ' ' && !line) continue;
    }
    if (segment === ' ') space = line.length;
    line += segment;
    width += step;
  }
  return [...lines, line];
}
