import type { Style, TableLayout } from 'pdfmake/js/Printer.js';

export const COLORS = {
  ink: '#1d2630',
  muted: '#5c6773',
  rule: '#d4d9de',
  tint: '#f3f5f7',
  navy: '#1f3a5f',
  teal: '#4c8c8a',
  rust: '#b85c2b',
  grey: '#a7afb8',
};

/** A4 in points, and its margins: left, top, right, bottom. */
export const PAGE_MARGINS: [number, number, number, number] = [56, 60, 56, 66];
export const TEXT_WIDTH = 595.28 - PAGE_MARGINS[0] - PAGE_MARGINS[2];

export const DEFAULT_STYLE: Style = { font: 'latin', fontSize: 9, lineHeight: 1.08, color: COLORS.ink };

export const STYLES: Record<string, Style> = {
  section: { fontSize: 17, bold: true, color: COLORS.navy, margin: [0, 0, 0, 10] },
  part: { fontSize: 11.5, bold: true, color: COLORS.navy, margin: [0, 14, 0, 5] },
  label: { fontSize: 8, bold: true, color: COLORS.muted, margin: [0, 6, 0, 2] },
  paragraph: { margin: [0, 0, 0, 6] },
  note: { fontSize: 8, color: COLORS.muted, margin: [0, 4, 0, 6] },
  small: { fontSize: 7, color: COLORS.muted },
  caption: { fontSize: 10, bold: true, color: COLORS.navy },
  head: { fontSize: 7, bold: true, color: COLORS.muted },
  cell: { fontSize: 8 },
};

/** The gap between the columns of a table. */
export const GAP = 6;

/** The layouts of tables, by the names that tables use in `layout`. */
export const TABLE_LAYOUTS: Record<string, TableLayout> = {
  /**
   * A table with thin rules between its rows and a darker one below its head. Its text is flush with the page margins.
   */
  ruled: {
    hLineWidth: (row, { table }) => (row === 0 ? 0 : row === (table.headerRows ?? 0) ? 0.8 : 0.4),
    hLineColor: (row, { table }) => (row === (table.headerRows ?? 0) ? COLORS.navy : COLORS.rule),
    vLineWidth: () => 0,
    paddingLeft: (column) => (column === 0 ? 0 : GAP / 2),
    paddingRight: (column, { table }) => (column === (table.widths?.length ?? 0) - 1 ? 0 : GAP / 2),
    paddingTop: () => 2.5,
    paddingBottom: () => 2.5,
  },
  /** A single cell with a bar at its left. */
  boxed: {
    hLineWidth: () => 0,
    vLineWidth: (column) => (column === 0 ? 2.5 : 0),
    vLineColor: () => COLORS.navy,
    paddingLeft: () => 14,
    paddingRight: () => 14,
    paddingTop: () => 10,
    paddingBottom: () => 10,
  },
  /** Cells as separate boxes with white gaps. */
  tiles: {
    hLineWidth: () => 5,
    vLineWidth: (column, { table }) => (column === 0 || column === (table.widths?.length ?? 0) ? 0 : 5),
    hLineColor: () => '#ffffff',
    vLineColor: () => '#ffffff',
    paddingLeft: () => 10,
    paddingRight: () => 10,
    paddingTop: () => 7,
    paddingBottom: () => 5,
  },
  /** A word in a colored box. */
  badge: {
    hLineWidth: () => 0,
    vLineWidth: () => 0,
    paddingLeft: () => 2,
    paddingRight: () => 2,
    paddingTop: () => 0.5,
    paddingBottom: () => 1,
  },
};
