import type { Content } from 'pdfmake/js/Printer.js';
import type { EntryReferences } from '../content';
import { formatCount, formatNumber } from '../wording';
import { COLUMN_GAP, TEXT_WIDTH } from './style';

/**
 * The heading of a numbered section. It starts a page and is listed in the contents and the
 * outline.
 */
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

/** The heading of a numbered part of a section. It is listed in the contents and the outline. */
export function subsectionHeading(section: number, number: number, title: string): Content {
  return {
    text: `${section}.${number}  ${title}`,
    style: 'subsection',
    tocItem: true,
    tocMargin: [16, 1, 0, 0],
    outline: true,
    outlineText: `${section}.${number} ${title}`,
    outlineParentId: `section-${section}`,
    id: `subsection-${section}-${number}`,
  };
}

export function paragraph(text: string): Content {
  return { text, style: 'paragraph' };
}

/** A column of a table. Its width is its share among the shares of all columns. */
export interface Column {
  head: string;
  share: number;
  alignment: 'left' | 'right';
}

export function textColumn(head: string, share: number): Column {
  return { head, share, alignment: 'left' };
}

/** A column of formatted numbers, which are aligned at the right. */
export function numberColumn(head: string, share: number): Column {
  return { head, share, alignment: 'right' };
}

/**
 * A table as wide as the page's text, or a note if it has no rows. Its head is repeated on every
 * page. Rows do not break across pages unless one of them might be higher than a page.
 * @param caption a title above the column heads; it is part of the table, so it never stays alone
 *   at the end of a page
 */
export function ruledTable(columns: Column[], rows: Content[][], caption?: string): Content {
  if (rows.length === 0) {
    const stack: Content[] = [{ text: 'None in the period.', style: 'note' }];
    if (caption) stack.unshift({ text: caption, style: 'caption' });
    return { stack, unbreakable: true };
  }
  const keepRowsWhole = rows.every(fitsOnPage);
  const head = columns.map(
    ({ head, alignment }): Content => ({ text: head, style: 'head', alignment }),
  );
  const body = rows.map((row) => row.map((cell, at) => bodyCell(cell, columns[at]?.alignment)));
  // The widths are fixed because the library would widen a column to its longest word.
  const width = TEXT_WIDTH - (columns.length - 1) * COLUMN_GAP;
  const shares = columns.reduce((sum, { share }) => sum + share, 0);
  const headRows = [head];
  if (caption) {
    const title: Content = {
      text: caption,
      style: 'caption',
      colSpan: columns.length,
      margin: [0, 0, 0, 2],
    };
    // The cells that the title spans have to be there.
    headRows.unshift([title, ...columns.slice(1).map(() => '')]);
  }
  return {
    table: {
      headerRows: headRows.length,
      keepWithHeaderRows: keepRowsWhole ? 1 : 0,
      dontBreakRows: keepRowsWhole,
      widths: columns.map(({ share }) => (width * share) / shares),
      body: [...headRows, ...body],
    },
    layout: 'ruled',
    margin: [0, 0, 0, 14],
  };
}

/** A note below a table that lists only the first rows; nothing if the table is complete. */
export function omittedNote(count: number, listed: number, noun: string): Content[] {
  if (count <= listed) return [];
  const omitted = formatCount(count - listed, `more ${noun}`);
  return [
    {
      text: `The first ${listed} are listed. The JSON form of this report has ${omitted}.`,
      style: 'note',
    },
  ];
}

function bodyCell(cell: Content, alignment: Column['alignment'] = 'left'): Content {
  if (typeof cell !== 'string') return { stack: [cell], style: 'cell' };
  return { text: cell, style: 'cell', alignment };
}

/**
 * The line below a statement: how many entries support it, and the ids of those that the report
 * names.
 */
export function entryReferences({ entries, entry_ids: ids }: EntryReferences): Content {
  let text = formatCount(entries, 'entry', 'entries');
  if (ids.length > 0 && ids.length < entries) text += `; ${formatNumber(ids.length)} of them`;
  if (ids.length > 0) text += `: ${ids.join(', ')}`;
  return { text, style: 'small' };
}

/** A text of this length fits on a page even in the narrowest column. */
const PAGE_CHARACTERS = 1_800;

/**
 * Whether content certainly fits on one page, so that it may be kept together. The library would
 * cut off unbreakable content that is higher than a page. Characters outside the Basic Multilingual
 * Plane count as the code that may replace them.
 */
export function fitsOnPage(content: Content[]): boolean {
  const text = JSON.stringify(content).replace(/[\u{10000}-\u{10ffff}]/gu, '[U+1F600]');
  return text.length <= PAGE_CHARACTERS;
}
