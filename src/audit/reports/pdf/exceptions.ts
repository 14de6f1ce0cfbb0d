import type { Content } from 'pdfmake/js/Printer.js';
import type { ComplianceReport, ReportException } from '../report';
import { entriesBehind } from './evidence';
import { countOf, shorten, wordsOf } from './format';
import { sectionHeading } from './headings';
import { COLORS } from './style';
import { restOf, ruledTable } from './tables';

/** How many exceptions the PDF lists; the JSON form has all of them. */
const LISTED = 60;

const SEVERITIES = ['high', 'medium', 'low'] as const;

/** The word says it; the filling only finds it faster. */
const BADGES: Record<ReportException['severity'], { fillColor: string; color: string }> = {
  high: { fillColor: COLORS.rust, color: '#ffffff' },
  medium: { fillColor: '#f0dccb', color: COLORS.ink },
  low: { fillColor: COLORS.tint, color: COLORS.ink },
};

/** What deserves an auditor's eye. */
export function exceptionsSection({ exceptions }: ComplianceReport, number: number): Content[] {
  const counts = SEVERITIES.map((severity) => {
    const count = exceptions.filter((one) => one.severity === severity).length;
    return `${count} ${severity}`;
  });
  return [
    sectionHeading(number, 'Exceptions'),
    {
      text: `${countOf(exceptions.length, 'exception deserves', 'exceptions deserve')} an auditor’s eye: ${counts.join(', ')}. An exception is no finding of a fault.`,
      style: 'paragraph',
    },
    ruledTable(
      [
        { head: 'Severity', share: 2 },
        { head: 'Exception', share: 15 },
      ],
      exceptions
        .slice(0, LISTED)
        .map((one) => [
          badge(one.severity),
          { stack: [{ text: wordsOf(one.kind), bold: true }, { text: shorten(one.text, 900) }, entriesBehind(one)] },
        ]),
    ),
    ...restOf(exceptions.length, LISTED, 'exception', 'exceptions'),
  ];
}

function badge(severity: ReportException['severity']): Content {
  const text = wordsOf(severity);
  return {
    table: { widths: ['*'], body: [[{ text, fontSize: 7, bold: true, alignment: 'center', ...BADGES[severity] }]] },
    layout: 'badge',
  };
}
