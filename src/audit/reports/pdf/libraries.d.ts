/**
 * The part of pdfmake that the reports use. (@types/pdfmake does not declare the printer, and it brings browser types
 * that conflict with those of Workers.)
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

  export interface Node extends Style {
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
    | { type: 'line'; x1: number; y1: number; x2: number; y2: number; lineWidth: number; lineColor: string }
    | { type: 'rect'; x: number; y: number; w: number; h: number; color: string };

  export interface Table {
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

  export interface TableLayout {
    hLineWidth?(row: number, node: { table: Table }): number;
    vLineWidth?(column: number, node: { table: Table }): number;
    hLineColor?(row: number, node: { table: Table }): string;
    vLineColor?(column: number, node: { table: Table }): string;
    paddingLeft?(column: number, node: { table: Table }): number;
    paddingRight?(column: number, node: { table: Table }): number;
    paddingTop?(row: number, node: { table: Table }): number;
    paddingBottom?(row: number, node: { table: Table }): number;
  }

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

  export interface FileSystem {
    existsSync(path: string): boolean;
    readFileSync(path: string): Uint8Array;
  }

  export interface UrlResolver {
    resolve(url: string): void;
    resolved(): Promise<void>;
  }

  export interface PdfStream {
    on(event: 'data', listener: (chunk: Uint8Array) => void): void;
    on(event: 'end', listener: () => void): void;
    on(event: 'error', listener: (error: Error) => void): void;
    end(): void;
  }

  export class Printer {
    constructor(
      fonts: Record<string, { normal: string; bold: string }>,
      files: FileSystem,
      urls: UrlResolver,
      localAccessPolicy: (path: string) => boolean,
    );
    createPdfKitDocument(
      definition: Definition,
      options: { tableLayouts: Record<string, TableLayout> },
    ): Promise<PdfStream>;
  }

  const exported: typeof Printer | { default: typeof Printer };
  export default exported;
}

/** The part of the Unicode bidirectional algorithm's implementation that is used. */
declare module 'bidi-js' {
  interface Levels {
    levels: Uint8Array;
  }

  interface Bidi {
    getEmbeddingLevels(text: string, base: 'ltr' | 'rtl'): Levels;
    getReorderedIndices(text: string, levels: Levels): number[];
    getMirroredCharactersMap(text: string, levels: Uint8Array): Map<number, string>;
  }

  export default function makeBidi(): Bidi;
}
