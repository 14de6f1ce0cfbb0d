import type { Content, Definition } from 'pdfmake/js/Printer.js';
import type { ReportContent } from '../content';
import { formatNumber, formatTimestamp, truncate } from '../wording';
import {
  changesSection,
  controlsSection,
  exceptionsSection,
  sampleSection,
} from './evidence-sections';
import {
  agentsSection,
  decidersSection,
  monthsSection,
  outcomesSection,
  scopeSection,
  summarySection,
} from './figure-sections';
import { COLORS, COLUMN_GAP, DEFAULT_STYLE, PAGE_MARGINS, STYLES, TEXT_WIDTH } from './style';

/** The sections of a report in their order, which numbers them from 1. */
const SECTIONS = [
  scopeSection,
  summarySection,
  monthsSection,
  agentsSection,
  decidersSection,
  outcomesSection,
  controlsSection,
  exceptionsSection,
  changesSection,
  sampleSection,
];

/** Composes the title page, the table of contents and all sections. No font is chosen yet. */
export function composePages(report: ReportContent): Content[] {
  const sections = SECTIONS.flatMap((section, at) => section(report, at + 1));
  const contents: Content[] = [
    { text: 'Contents', style: 'section', pageBreak: 'before' },
    { toc: { numberStyle: { color: COLORS.muted } } },
  ];
  return [...titlePage(report), ...contents, ...sections];
}

/**
 * Makes pdfmake's definition of the PDF: the pages, with page size, styles, footer and metadata.
 * Its dates are those of the report, so that the same report gives the same bytes.
 * @param content the result of {@link composePages} with fonts
 */
export function defineDocument(report: ReportContent, content: Content): Definition {
  const createdAt = new Date(report.generated_at);
  const title = `Compliance report ${report.framework}, ${report.period.start} to ${report.period.end}`;
  return {
    content,
    pageSize: 'A4',
    pageMargins: PAGE_MARGINS,
    version: '1.7',
    language: 'en',
    displayTitle: true,
    info: {
      title,
      subject: report.report_id,
      author: 'Countersign',
      creator: 'Countersign',
      creationDate: createdAt,
      modDate: createdAt,
    },
    styles: STYLES,
    defaultStyle: DEFAULT_STYLE,
    footer: (page, pages) => ({
      columns: [
        { text: report.report_id, width: '*' },
        { text: `Page ${page} of ${pages}`, width: 'auto', alignment: 'right' },
      ],
      fontSize: 7,
      color: COLORS.muted,
      margin: [PAGE_MARGINS[0], 26, PAGE_MARGINS[2], 0],
    }),
  };
}

/** The first page: the framework, the account, the period and the statement. */
function titlePage(report: ReportContent): Content[] {
  const { account, period } = report;
  const facts: [string, string][] = [
    ['Account', truncate(account.name ?? account.id, 120)],
    ['Account id', account.id],
    ['Plan', account.plan],
    ['Period', `${period.start} to ${period.end}, both days included, in UTC`],
    ['Audit entries', formatNumber(report.summary.entries)],
    ['Report id', report.report_id],
    ['Generated', `${formatTimestamp(report.generated_at)} UTC`],
  ];
  return [
    {
      text: 'COUNTERSIGN',
      fontSize: 9,
      bold: true,
      characterSpacing: 2,
      color: COLORS.muted,
      margin: [0, 70, 0, 0],
    },
    {
      canvas: [
        {
          type: 'line',
          x1: 0,
          y1: 0,
          x2: TEXT_WIDTH,
          y2: 0,
          lineWidth: 1.5,
          lineColor: COLORS.navy,
        },
      ],
      margin: [0, 8, 0, 34],
    },
    { text: 'Compliance report', fontSize: 13, color: COLORS.muted },
    {
      text: report.framework,
      fontSize: 28,
      bold: true,
      color: COLORS.navy,
      lineHeight: 1,
      margin: [0, 2, 0, 6],
    },
    {
      text: 'Access of AI agents: requests, decisions and use',
      fontSize: 12,
      margin: [0, 0, 0, 40],
    },
    {
      table: {
        widths: [104, TEXT_WIDTH - 104 - COLUMN_GAP],
        body: facts.map(([name, value]) => [
          { text: name, color: COLORS.muted },
          { text: value, bold: name === 'Account' },
        ]),
      },
      layout: 'ruled',
      margin: [0, 0, 0, 44],
    },
    statementBox(report.statement),
  ];
}

function statementBox(statement: string): Content {
  const title: Content = {
    text: 'Evidence, not attestation',
    bold: true,
    color: COLORS.navy,
    margin: [0, 0, 0, 4],
  };
  const cell: Content = { stack: [title, { text: statement }], fillColor: COLORS.tint };
  return { table: { widths: [TEXT_WIDTH - 28], body: [[cell]] }, layout: 'boxed' };
}
