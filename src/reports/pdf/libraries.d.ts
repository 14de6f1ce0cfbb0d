/**
 * The part of pdfmake that the reports use. (@types/pdfmake does not declare the printer, and it
 * brings browser types that conflict with those of Workers.)
 */
declare module 'pdfmake/js/Printer.js' {
  export type Sides = [left: number, top: number, right: number, bottom: number];

  export interface Style {
    font?: string;
    fontSize?: number;
    lineHeight?: number;
    bold?: boolean;
    color?: string;
    fillColor?: string;
    alignment?: 'left' | 'right' | 'center';
    characterSpacing?: number;
    margin?: Sides;
  }

  interface Node extends Style {
    style?: string;
    width?: number | '*' | 'auto';
    layout?: string;
    unbreakable?: boolean;
    pageBreak?: 'before';
    relativePosition?: { x: number; y: number };
    id?: string;
    tocItem?: boolean;
    tocStyle?: Style;
    tocMargin?: Sides;
    outline?: boolean;
    outlineText?: string;
    outlineParentId?: string;
    colSpan?: number;
  }

  export type Shape =
    | {
        type: 'line';
        x1: number;
        y1: number;
        x2: number;
        y2: number;
        lineWidth: number;
        lineColor: string;
      }
    | { type: 'rect'; x: number; y: number; w: number; h: number; color: string };

  interface Table {
    headerRows?: number;
    keepWithHeaderRows?: number;
    dontBreakRows?: boolean;
    widths: (number | '*')[];
    body: Content[][];
  }

  export type Content =
    | string
    | (Node & { text: Content | Content[] })
    | (Node & { stack: Content[] })
    | (Node & { columns: Content[] })
    | (Node & { table: Table })
    | (Node & { canvas: Shape[] })
    | (Node & { toc: { numberStyle: Style } });

  /**
   * Gives a value for a horizontal line or row, or for a vertical line or column, by its index from
   * 0.
   */
  type LayoutValue<T> = (index: number, node: { table: Table }) => T;

  export type TableLayout = Partial<
    Record<
      `${'h' | 'v'}LineWidth` | `padding${'Left' | 'Right' | 'Top' | 'Bottom'}`,
      LayoutValue<number>
    > &
      Record<`${'h' | 'v'}LineColor`, LayoutValue<string>>
  >;

  export interface Definition {
    content: Content;
    pageSize: 'A4';
    pageMargins: Sides;
    version: '1.7';
    language: string;
    displayTitle: boolean;
    info: Record<string, string | Date>;
    styles: Record<string, Style>;
    defaultStyle: Style;
    footer(page: number, pages: number): Content;
  }

  class Printer {
    constructor(
      fonts: Record<string, { normal: string; bold: string }>,
      files: { existsSync(path: string): boolean; readFileSync(path: string): Uint8Array },
      urls: { resolve(url: string): void; resolved(): Promise<void> },
      localAccessPolicy: (path: string) => boolean,
    );
    /** Returns a stream that ends after `end()` was called. */
    createPdfKitDocument(
      definition: Definition,
      options: { tableLayouts: Record<string, TableLayout> },
    ): Promise<AsyncIterable<Uint8Array> & { end(): void }>;
  }

  const exported: typeof Printer | { default: typeof Printer };
  export default exported;
}

/**
 * The part of bidi-js, an implementation of the Unicode bidirectional algorithm, that the reports
 * use.
 */
declare module 'bidi-js' {
  export default function makeBidi(): {
    getEmbeddingLevels(text: string, base: 'ltr' | 'rtl'): { levels: Uint8Array };
    getReorderedIndices(text: string, levels: { levels: Uint8Array }): number[];
    getMirroredCharactersMap(text: string, levels: Uint8Array): Map<number, string>;
  };
}
