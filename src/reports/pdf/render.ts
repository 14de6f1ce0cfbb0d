// The reference is for projects that compile this file from another folder and do not find its
// declarations.
/// <reference path="./libraries.d.ts" />
import exported from 'pdfmake/js/Printer.js';
import type { ReportContent } from '../content';
import { composePages, defineDocument } from './document';
import { FontCoverage, type FontFamily, type LoadFont, loadFonts } from './fonts';
import { TABLE_LAYOUTS } from './style';
import { assignFonts } from './text-runs';

/**
 * pdfmake's printer: the default export of a CommonJS module, which some bundlers unwrap and others
 * do not.
 */
const Printer = 'default' in exported ? exported.default : exported;

/**
 * Makes the PDF file of a report. The same report gives the same bytes. Loads only the fonts that
 * its texts need.
 */
export async function renderPdf(report: ReportContent, loadFont: LoadFont): Promise<Uint8Array> {
  const families = new Set<FontFamily>(['latin']);
  const coverage = await FontCoverage.load(loadFont);
  const content = assignFonts({ stack: composePages(report) }, coverage, families);
  const { dictionary, files } = await loadFonts(families, loadFont);
  const fileSystem = {
    existsSync: (path: string) => files.has(path),
    readFileSync: (path: string) => files.get(path) as Uint8Array,
  };
  const noUrls = { resolve: () => {}, resolved: async () => {} };
  const printer = new Printer(dictionary, fileSystem, noUrls, () => false);
  const document = defineDocument(report, content);
  const options = { tableLayouts: TABLE_LAYOUTS };
  const stream = await printer.createPdfKitDocument(document, options);
  stream.end();
  return new Blob(await Array.fromAsync(stream)).bytes();
}
