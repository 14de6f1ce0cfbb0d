import type { Content } from 'pdfmake/js/Printer.js';
import type { EntryReferences } from '../content';
import { formatCount, formatNumber } from '../wording';
import { GAP, TEXT_WIDTH } from './style';

/** The heading of a numbered section. It starts a page and is listed in the contents and the outline. */
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

/** The heading of a part of a section. It is listed in the contents and the outline. */
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

/** A column of a table. */
export interface Column {
  head: string;
  /** Its width, relative to the other columns' shares. */
  share: number;
  /** Whether its cells are numbers, which are aligned at the right. */
  number?: true;
}

/**
 * A table as wide as the page. Its head is repeated on every page. Rows do not break across pages unless one of them
 * might be higher than a page.
 * @param caption a title above the column heads; it is part of the table, so it never stays alone at the end of a page
 */
export function ruledTable(columns: Column[], rows: Content[][], caption?: string): Content {
  if (rows.length === 0) return emptyTable(caption);
  const keepRowsWhole = rows.every(fitsOnPage);
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
      keepWithHeaderRows: keepRowsWhole ? 1 : 0,
      dontBreakRows: keepRowsWhole,
      widths: columnWidths(columns),
      body: [...headRows, ...body],
    },
    layout: 'ruled',
    margin: [0, 0, 0, 14],
  };
}

/** A note below a table that lists only the first rows; nothing if the table is complete. */
export function omittedNote(count: number, listed: number, one: string, many: string): Content[] {
  if (count <= listed) return [];
  const omitted = formatCount(count - listed, `more ${one}`, `more ${many}`);
  return [{ text: `The first ${listed} are listed. The JSON form of this report has ${omitted}.`, style: 'note' }];
}

function emptyTable(caption?: string): Content {
  const title: Content[] = caption ? [{ text: caption, style: 'caption' }] : [];
  return { stack: [...title, { text: 'None in the period.', style: 'note' }], unbreakable: true };
}

function bodyCell(cell: Content, number: true | undefined): Content {
  if (typeof cell === 'string') return { text: cell, style: 'cell', ...align(number) };
  return { stack: [cell], style: 'cell' };
}

/** Widths in points. They are fixed because the library would widen a column to its longest word. */
function columnWidths(columns: Column[]): number[] {
  const shares = columns.reduce((sum, { share }) => sum + share, 0);
  const free = TEXT_WIDTH - (columns.length - 1) * GAP;
  return columns.map(({ share }) => (free * share) / shares);
}

function align(number: true | undefined) {
  return number ? { alignment: 'right' as const } : {};
}

/** How many entries are listed with a sentence. */
const LISTED_ENTRIES = 20;

/** The line below a sentence: how many entries it refers to, and the ids of the first ones. */
export function entryReferences({ entries, entry_ids: ids }: EntryReferences): Content {
  const total = formatCount(entries, 'entry', 'entries');
  const shown = ids.slice(0, LISTED_ENTRIES);
  if (shown.length === 0) return { text: total, style: 'small' };
  const which = shown.length < entries ? `, of which ${formatNumber(shown.length)}` : '';
  return { text: `${total}${which}: ${shown.join(', ')}`, style: 'small' };
}

/** A text of this length fits on a page even in the narrowest column. */
const PAGE_CHARACTERS = 1_800;

/**
 * Whether content certainly fits on one page, so that it may be kept together. The library would cut off unbreakable
 * content that is higher than a page. Characters outside the Basic Multilingual Plane count as the code that may
 * replace them.
 */
export function fitsOnPage(content: Content[]): boolean {
  return JSON.stringify(content).replace(/[\u{10000}-\u{10ffff}]/gu, '[U+1F600]').length <= PAGE_CHARACTERS;
}
