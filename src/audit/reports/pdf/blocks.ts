import type { Content } from 'pdfmake/js/Printer.js';
import type { EntryReferences } from '../content';
import { formatCount, formatNumber } from '../wording';
import { GAP, TEXT_WIDTH } from './style';

/** A numbered section, which begins a page and stands in the contents and the outline. */
export function sectionHeading(number: number, title: string): Content {
  return {
    text: `${number}  ${title}`,
    style: 'section',
    pageBreak: 'before',
    tocItem: true,
    tocStyle: { bold: true },
    tocMargin: [0, 7, 0, 0],
    outline: true,
    outlineText: `${number} ${title}`,
    id: `section-${number}`,
  };
}

/** A part of a section, which stands in the contents and the outline too. */
export function partHeading(section: number, part: number, title: string): Content {
  return {
    text: `${section}.${part}  ${title}`,
    style: 'part',
    tocItem: true,
    tocMargin: [16, 1, 0, 0],
    outline: true,
    outlineText: `${section}.${part} ${title}`,
    outlineParentId: `section-${section}`,
    id: `part-${section}-${part}`,
  };
}

/** A column: its head, its share of the page's width, and whether its cells are numbers. */
export interface Column {
  head: string;
  share: number;
  number?: true;
}

/**
 * A table over the page's whole width, whose head is repeated on every page that it reaches. Its rows stay whole if
 * each of them fits on a page.
 * @param caption stands above the head, so that it never stays behind alone at the end of a page
 */
export function ruledTable(columns: Column[], rows: Content[][], caption?: string): Content {
  if (rows.length === 0) return emptyTable(caption);
  const wholeRows = rows.every(fitsOnPage);
  const head = columns.map(({ head, number }): Content => ({ text: head, style: 'head', ...align(number) }));
  const title: Content[] = caption
    ? [
        { text: caption, style: 'caption', colSpan: columns.length, margin: [0, 0, 0, 2] },
        ...columns.slice(1).map(() => ''),
      ]
    : [];
  const body = rows.map((row) => row.map((cell, at) => bodyCell(cell, columns[at]?.number)));
  const headRows = caption ? [title, head] : [head];
  return {
    table: {
      headerRows: headRows.length,
      keepWithHeaderRows: wholeRows ? 1 : 0,
      dontBreakRows: wholeRows,
      widths: columnWidths(columns),
      body: [...headRows, ...body],
    },
    layout: 'ruled',
    margin: [0, 0, 0, 14],
  };
}

/** What stands below a table that lists only the first of many. */
export function omittedNote(count: number, listed: number, one: string, many: string): Content[] {
  if (count <= listed) return [];
  const rest = formatCount(count - listed, `more ${one}`, `more ${many}`);
  return [{ text: `The first ${listed} are listed. The JSON form of this report has ${rest}.`, style: 'note' }];
}

function emptyTable(caption?: string): Content {
  const title: Content[] = caption ? [{ text: caption, style: 'caption' }] : [];
  return { stack: [...title, { text: 'None in the period.', style: 'note' }], unbreakable: true };
}

function bodyCell(cell: Content, number: true | undefined): Content {
  if (typeof cell === 'string') return { text: cell, style: 'cell', ...align(number) };
  return { stack: [cell], style: 'cell' };
}

/** Widths in points: a width that is left to the library grows with the longest word. */
function columnWidths(columns: Column[]): number[] {
  const shares = columns.reduce((sum, { share }) => sum + share, 0);
  const free = TEXT_WIDTH - (columns.length - 1) * GAP;
  return columns.map(({ share }) => (free * share) / shares);
}

function align(number: true | undefined) {
  return number ? { alignment: 'right' as const } : {};
}

/** How many of the entries behind a sentence are named. */
const SHOWN = 20;

/** The ids of the entries behind a sentence, and how many of them there are. */
export function entryReferences({ entries, entry_ids: ids }: EntryReferences): Content {
  const total = formatCount(entries, 'entry', 'entries');
  const shown = ids.slice(0, SHOWN);
  if (shown.length === 0) return { text: total, style: 'small' };
  const which = shown.length < entries ? `, of which ${formatNumber(shown.length)}` : '';
  return { text: `${total}${which}: ${shown.join(', ')}`, style: 'small' };
}

/** So much text, in the narrowest of columns, is sure to fit on a page. */
const CHARACTERS = 1_800;

/**
 * Whether some content may be kept together: what is higher than a page would run over its foot and be lost. Characters
 * beyond the basic plane count as they are written out, at worst.
 */
export function fitsOnPage(content: Content[]): boolean {
  return JSON.stringify(content).replace(/[\u{10000}-\u{10ffff}]/gu, '[U+1F600]').length <= CHARACTERS;
}
