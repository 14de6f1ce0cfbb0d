import type { Content } from 'pdfmake/js/Printer.js';
import type { ComplianceReport } from '../report';
import { formatNumber, formatTime, shorten } from './format';
import { COLORS, GAP, TEXT_WIDTH } from './style';

/** The first page: what this is, of whom, of when. */
export function titlePage(report: ComplianceReport): Content[] {
  const { account, period } = report;
  const facts: [string, string][] = [
    ['Account', shorten(account.name ?? account.id, 120)],
    ['Account id', account.id],
    ['Plan', account.plan],
    ['Period', `${period.start} to ${period.end}, both days included, in UTC`],
    ['Audit entries', formatNumber(report.summary.entries)],
    ['Report id', report.report_id],
    ['Generated', `${formatTime(report.generated_at)} UTC`],
  ];
  return [
    { text: 'COUNTERSIGN', fontSize: 9, bold: true, characterSpacing: 2, color: COLORS.muted, margin: [0, 70, 0, 0] },
    rule(COLORS.navy, 1.5, [0, 8, 0, 34]),
    { text: 'Compliance report', fontSize: 13, color: COLORS.muted },
    { text: report.framework, fontSize: 28, bold: true, color: COLORS.navy, lineHeight: 1, margin: [0, 2, 0, 6] },
    { text: 'Access of AI agents: requests, decisions and use', fontSize: 12, margin: [0, 0, 0, 40] },
    {
      table: {
        widths: [104, TEXT_WIDTH - 104 - GAP],
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
  return {
    table: {
      widths: [TEXT_WIDTH - 28],
      body: [
        [
          {
            stack: [
              { text: 'Evidence, not attestation', bold: true, color: COLORS.navy, margin: [0, 0, 0, 4] },
              { text: statement },
            ],
            fillColor: COLORS.tint,
          },
        ],
      ],
    },
    layout: 'boxed',
  };
}

/** The second page: every section and the page that it begins on. */
export function contentsPage(): Content[] {
  return [
    { text: 'Contents', style: 'section', pageBreak: 'before' },
    { toc: { numberStyle: { color: COLORS.muted } } },
  ];
}

function rule(color: string, width: number, margin: [number, number, number, number]): Content {
  return {
    canvas: [{ type: 'line', x1: 0, y1: 0, x2: TEXT_WIDTH, y2: 0, lineWidth: width, lineColor: color }],
    margin,
  };
}
