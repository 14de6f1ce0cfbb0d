// The reference is for projects that compile this file from another folder and do not find its declarations.
/// <reference path="./libraries.d.ts" />
import exported, { type Definition } from 'pdfmake/js/Printer.js';
import type { ReportContent } from '../content';
import { composePages, defineDocument } from './document';
import { Coverage, type Family, type LoadFont, loadFamilies } from './fonts';
import { TABLE_LAYOUTS } from './style';
import { setFonts } from './text-runs';

/** pdfmake's printer: the default export of a CommonJS module, which some bundlers unwrap and others do not. */
const Printer = 'default' in exported ? exported.default : exported;

/** Makes the PDF file of a report. The same report gives the same bytes. Loads only the fonts that its texts need. */
export async function renderPdf(report: ReportContent, loadFont: LoadFont): Promise<Uint8Array> {
  const coverage = await Coverage.load(loadFont);
  const families = new Set<Family>(['latin']);
  const content = setFonts({ stack: composePages(report) }, coverage, families);
  return print(defineDocument(report, content), families, loadFont);
}

async function print(definition: Definition, families: Iterable<Family>, loadFont: LoadFont): Promise<Uint8Array> {
  const { dictionary, files } = await loadFamilies(families, loadFont);
  const fileSystem = {
    existsSync: (path: string) => files.has(path),
    readFileSync: (path: string) => files.get(path) as Uint8Array,
  };
  const noUrls = { resolve: () => {}, resolved: async () => {} };
  const printer = new Printer(dictionary, fileSystem, noUrls, () => false);
  const stream = await printer.createPdfKitDocument(definition, { tableLayouts: TABLE_LAYOUTS });
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    stream.on('data', (chunk) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('end', () => resolve(concatenate(chunks)));
    stream.end();
  });
}

function concatenate(chunks: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}
