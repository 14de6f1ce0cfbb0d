import type { Content } from 'pdfmake/js/Printer.js';
import type { ComplianceReport, SampledEntry } from '../report';
import { countOf, formatNumber, formatTime, shorten, wordsOf } from './format';
import { sectionHeading } from './headings';
import { ruledTable } from './tables';

/** How much of an entry's details the PDF shows, in characters. */
const DETAILS = 600;

/** Entries to test, drawn by chance. */
export function sampleSection({ sample }: ComplianceReport, number: number): Content[] {
  return [
    sectionHeading(number, 'Sample for testing'),
    {
      text: `${countOf(sample.length, 'entry', 'entries')}, drawn by an order that only the report’s id determines: whoever draws again from the same log gets the same.`,
      style: 'paragraph',
    },
    ruledTable(
      [
        { head: 'No.', share: 2, number: true },
        { head: 'Time (UTC) and event', share: 5 },
        { head: 'Entry, agent and permission; details', share: 15 },
      ],
      sample.map((entry) => [
        formatNumber(entry.sequence),
        {
          stack: [
            { text: formatTime(entry.created_at) },
            { text: wordsOf(entry.event_type), bold: true },
            { text: entry.ip_address, style: 'small' },
            { text: shorten(entry.user_agent, 120), style: 'small' },
          ],
        },
        {
          stack: [
            { text: entry.id },
            { text: entry.agent_id },
            { text: entry.permission_request_id },
            { text: detailsOf(entry), style: 'small' },
          ],
        },
      ]),
    ),
  ];
}

function detailsOf({ details }: SampledEntry): string {
  return shorten(JSON.stringify(details), DETAILS);
}
