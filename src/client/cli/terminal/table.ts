import { escapeText } from './escape.ts';
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
const MIN_WIDTH = 6;

/**
 * Formats rows as lines of columns that fit the width of the terminal: the widest columns are shortened. The values are
 * escaped.
 */
export function formatTable<Row>(rows: Row[], columns: Column<Row>[], width: number, style: Style): string[] {
  const cells = rows.map((row) => columns.map(({ value }) => escapeText(String(value(row) ?? ''))));
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...cells.map((line) => widthOf(line[index] ?? ''))),
  );
  shrink(widths, columns, width);
  const format = (line: string[], colour: (text: string, column: Column<Row> | undefined) => string) =>
    line
      .map((text, index) => {
        const columnWidth = widths[index] ?? 0;
        const fitted = fitWidth(text, columnWidth);
        const padding = index === columns.length - 1 ? '' : ' '.repeat(columnWidth - widthOf(fitted));
        return colour(fitted, columns[index]) + padding;
      })
      .join(GAP)
      .trimEnd();
  return [
    format(
      columns.map(({ title }) => title),
      (text) => style.dim(text),
    ),
    ...cells.map((line) => format(line, (text, column) => column?.colour?.(text, style) ?? text)),
  ];
}

function shrink(widths: number[], columns: Column<never>[] | { isWhole?: boolean }[], width: number): void {
  const total = () => widths.reduce((sum, one) => sum + one, 0) + GAP.length * (widths.length - 1);
  while (total() > width) {
    let widest = -1;
    for (const [index, one] of widths.entries()) {
      if (columns[index]?.isWhole || one <= MIN_WIDTH) continue;
      if (widest < 0 || one > (widths[widest] ?? 0)) widest = index;
    }
    if (widest < 0) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}
