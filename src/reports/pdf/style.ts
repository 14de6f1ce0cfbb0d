import type { Sides, Style, TableLayout } from 'pdfmake/js/Printer.js';

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

/** The margins of a page in points: left, top, right, bottom. */
export const PAGE_MARGINS: Sides = [56, 60, 56, 66];

/** The width of the text on an A4 page, in points. */
export const TEXT_WIDTH = 595.28 - PAGE_MARGINS[0] - PAGE_MARGINS[2];

export const DEFAULT_STYLE: Style = {
  font: 'latin',
  fontSize: 9,
  lineHeight: 1.08,
  color: COLORS.ink,
};

/** The styles by the names that content uses in `style`. */
export const STYLES: Record<string, Style> = {
  section: { fontSize: 17, bold: true, color: COLORS.navy, margin: [0, 0, 0, 10] },
  subsection: { fontSize: 11.5, bold: true, color: COLORS.navy, margin: [0, 14, 0, 5] },
  label: { fontSize: 8, bold: true, color: COLORS.muted, margin: [0, 6, 0, 2] },
  paragraph: { margin: [0, 0, 0, 6] },
  note: { fontSize: 8, color: COLORS.muted, margin: [0, 4, 0, 6] },
  small: { fontSize: 7, color: COLORS.muted },
  caption: { fontSize: 10, bold: true, color: COLORS.navy },
  head: { fontSize: 7, bold: true, color: COLORS.muted },
  cell: { fontSize: 8 },
};

/** The gap between the columns of a table, in points. */
export const COLUMN_GAP = 6;

/** The layouts of tables, by the names that tables use in `layout`. */
export const TABLE_LAYOUTS: Record<string, TableLayout> = {
  /**
   * Thin rules between the rows and a darker one below the head. The text is flush with the page
   * margins.
   */
  ruled: {
    hLineWidth: (row, { table: { headerRows = 0 } }) => {
      if (row === 0) return 0;
      return row === headerRows ? 0.8 : 0.4;
    },
    hLineColor: (row, { table: { headerRows = 0 } }) =>
      row === headerRows ? COLORS.navy : COLORS.rule,
    vLineWidth: () => 0,
    ...padding(COLUMN_GAP / 2, 2.5, 2.5),
    paddingLeft: (column) => (column === 0 ? 0 : COLUMN_GAP / 2),
    paddingRight: (column, { table }) => (column === table.widths.length - 1 ? 0 : COLUMN_GAP / 2),
  },
  /** A single cell with a bar at its left. */
  boxed: {
    hLineWidth: () => 0,
    vLineWidth: (column) => (column === 0 ? 2.5 : 0),
    vLineColor: () => COLORS.navy,
    ...padding(14, 10, 10),
  },
  /** Cells as separate boxes with white gaps. */
  tiles: {
    hLineWidth: () => 5,
    vLineWidth: (column, { table }) => (column === 0 || column === table.widths.length ? 0 : 5),
    hLineColor: () => '#ffffff',
    vLineColor: () => '#ffffff',
    ...padding(10, 7, 5),
  },
  /** A word in a colored box. */
  badge: { hLineWidth: () => 0, vLineWidth: () => 0, ...padding(2, 0.5, 1) },
};

function padding(sides: number, top: number, bottom: number): TableLayout {
  return {
    paddingLeft: () => sides,
    paddingRight: () => sides,
    paddingTop: () => top,
    paddingBottom: () => bottom,
  };
}
