import { escapeText } from './escape.ts';
import { mixedScripts } from './scripts.ts';
import type { Style } from './style.ts';
import { fitWidth, widthOf } from './width.ts';

export interface Column<Row> {
  title: string;
  value: (row: Row) => string | number | null;
  /** Never shortened, because it is copied. */
  isWhole?: boolean;
  colour?: (text: string, style: Style) => string;
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
    return { ...column, cells, width: Math.max(column.title.length, ...cells.map(widthOf)) };
  });
  const mixed = rows.map((_, index) =>
    mixedScripts(table.map(({ cells }) => cells[index] ?? '').join('\n')),
  );
  if (mixed.some((scripts) => scripts !== '')) {
    const title = 'MIXED SCRIPTS';
    const column = { title, cells: mixed, width: Math.max(title.length, ...mixed.map(widthOf)) };
    table.splice(1, 0, { ...column, isWhole: true, value: () => null });
  }
  const shown = shrink(table, width);
  const format = (cells: { text: string; width: number; colour: (text: string) => string }[]) =>
    cells
      .map(({ text, width, colour }) => {
        const fitted = fitWidth(text, width);
        return colour(fitted) + ' '.repeat(width - widthOf(fitted));
      })
      .join(GAP)
      .trimEnd();
  return [
    format(shown.map(({ title, width }) => ({ text: title, width, colour: style.dim }))),
    ...rows.map((_, index) =>
      format(
        shown.map(({ cells, width, colour }) => ({
          ...{ text: cells[index] ?? '', width },
          colour: (text) => colour?.(text, style) ?? text,
        })),
      ),
    ),
  ];
}

/** Returns the columns that have room, with the widths that fit. The first one is always shown. */
function shrink<T extends { width: number; isWhole?: boolean }>(columns: T[], room: number): T[] {
  const least = ({ width, isWhole }: T) => (isWhole ? width : Math.min(width, MIN_WIDTH));
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
