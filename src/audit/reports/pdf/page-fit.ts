import type { Content } from 'pdfmake/js/Printer.js';

/** So much text, in the narrowest of columns, is sure to fit on a page. */
const CHARACTERS = 1_800;

/**
 * Whether some content may be kept together: what is higher than a page would run over its foot and be lost. Characters
 * beyond the basic plane count as they are written out, at worst.
 */
export function fitsOnPage(content: Content[]): boolean {
  return JSON.stringify(content).replace(/[\u{10000}-\u{10ffff}]/gu, '[U+1F600]').length <= CHARACTERS;
}
