import type { Content, Definition, TableLayout } from 'pdfmake/js/Printer.js';
import type { ComplianceReport } from '../report';
import { changesSection } from './changes';
import { controlsSection } from './controls';
import { exceptionsSection } from './exceptions';
import { contentsPage, titlePage } from './front';
import { monthsSection, scopeSection, summarySection } from './overview';
import { agentsSection, decidersSection } from './population';
import { sampleSection } from './sample';
import { BADGE, BOXED, COLORS, DEFAULT_STYLE, PAGE_MARGINS, RULED, STYLES, TILES } from './style';

const SECTIONS = [
  scopeSection,
  summarySection,
  monthsSection,
  agentsSection,
  decidersSection,
  controlsSection,
  exceptionsSection,
  changesSection,
  sampleSection,
];

export const TABLE_LAYOUTS: Record<string, TableLayout> = {
  ruled: RULED,
  boxed: BOXED,
  tiles: TILES,
  badge: BADGE,
};

/** All that the document says, its fonts not yet chosen. */
export function contentOf(report: ComplianceReport): Content[] {
  const sections = SECTIONS.flatMap((section, at) => section(report, at + 1));
  return [...titlePage(report), ...contentsPage(), ...sections];
}

/** The document around its content. All that could differ between two runs comes from the report. */
export function documentOf(report: ComplianceReport, content: Content): Definition {
  const at = new Date(report.generated_at);
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
      creationDate: at,
      modDate: at,
    },
    styles: STYLES,
    defaultStyle: DEFAULT_STYLE,
    footer: (page, pages) => footer(report.report_id, page, pages),
  };
}

function footer(id: string, page: number, pages: number): Content {
  return {
    columns: [
      { text: id, width: '*' },
      { text: `Page ${page} of ${pages}`, width: 'auto', alignment: 'right' },
    ],
    fontSize: 7,
    color: COLORS.muted,
    margin: [PAGE_MARGINS[0], 26, PAGE_MARGINS[2], 0],
  };
}
