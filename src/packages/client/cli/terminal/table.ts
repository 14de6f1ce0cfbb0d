import { escapeText } from './escape.ts';
import { mixedScripts } from './scripts.ts';
import type { Style } from './style.ts';
import { fitWidth, widthOf } from './width.ts';

interface Heading {
  title: string;
  /** Never shortened, because it is copied. */
  isWhole?: boolean | undefined;
  colour?: ((text: string, style: Style) => string) | undefined;
}

export interface Column<Row> extends Heading {
  value: (row: Row) => string | number | null;
}

const GAP = '  ';

/** The narrowest that a column is made to fit the terminal. */
const MIN_WIDTH = 12;

/**
 * Formats rows as lines of columns that fit the width of the terminal. The columns stand in the
 * order of their importance: the last ones are left out while the others do not fit, and then the
 * widest are shortened. The values are escaped. The second column names the scripts that words of a
 * row mix, if any row has such words.
 */
export function formatTable<Row>(
  rows: Row[],
  columns: Column<Row>[],
  width: number,
  style: Style,
): string[] {
  const table = columns.map((column) => {
    const cells = rows.map((row) => escapeText(String(column.value(row) ?? '')));
    return layOut(column, cells);
  });
  const mixed = rows.map((_, index) => {
    const texts = table.map(({ cells }) => cells[index]);
    return mixedScripts(texts.join('\n'));
  });
  if (mixed.some((scripts) => scripts !== ''))
    table.splice(1, 0, layOut({ title: 'MIXED SCRIPTS', isWhole: true }, mixed));
  const shown = shrink(table, width);
  const heading = shown.map(({ title, width }) => formatCell(title, width, style.dim));
  const body = rows.map((_, index) =>
    shown.map(({ cells, width, colour }) =>
      formatCell(cells[index] ?? '', width, (text) => colour?.(text, style) ?? text),
    ),
  );
  return [heading, ...body].map((cells) => cells.join(GAP).trimEnd());
}

/** A column with its escaped texts. */
interface LaidColumn extends Heading {
  cells: string[];
  width: number;
}

function layOut({ title, isWhole, colour }: Heading, cells: string[]): LaidColumn {
  const width = Math.max(title.length, ...cells.map(widthOf));
  return { title, isWhole, colour, cells, width };
}

function formatCell(text: string, width: number, colour: (text: string) => string): string {
  const fitted = fitWidth(text, width);
  return colour(fitted) + ' '.repeat(width - widthOf(fitted));
}

/** Returns the columns that have room, with the widths that fit. The first one is always shown. */
function shrink(columns: LaidColumn[], room: number): LaidColumn[] {
  const least = ({ width, isWhole }: LaidColumn) => (isWhole ? width : Math.min(width, MIN_WIDTH));
  const total = (widths: number[]) =>
    widths.reduce((sum, one) => sum + one + GAP.length, -GAP.length);
  const shown = columns.map((column) => ({ ...column }));
  while (shown.length > 1 && total(shown.map(least)) > room) shown.pop();
  while (total(shown.map(({ width }) => width)) > room) {
    const [widest] = shown
      .filter((column) => column.width > least(column))
      .sort((one, other) => other.width - one.width);
    if (!widest) break;
    widest.width--;
  }
  return shown;
}
