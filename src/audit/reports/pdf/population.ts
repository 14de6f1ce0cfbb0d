import type { Content } from 'pdfmake/js/Printer.js';
import type { ComplianceReport } from '../report';
import { formatNumber, shorten } from './format';
import { sectionHeading } from './headings';
import { restOf, ruledTable } from './tables';

/** How many agents, and how many deciders, the PDF lists; the JSON form has all of them. */
const LISTED = 200;
/** How much of a name stands in a narrow column, in characters. */
const NAME = 80;

/** The agents, with what they asked for and got. */
export function agentsSection({ agents }: ComplianceReport, number: number): Content[] {
  const column = (head: string) => ({ head, share: 1.9, number: true as const });
  return [
    sectionHeading(number, 'Agents'),
    { text: 'Agents with entries in the period, most requests first.', style: 'paragraph' },
    ruledTable(
      [
        { head: 'Agent', share: 6.6 },
        ...['Requests', 'Approved', 'Denied', 'Expired', 'Issued', 'Used', 'Revoked'].map(column),
      ],
      agents
        .slice(0, LISTED)
        .map(({ agent_id: id, name, counts }) => [
          { stack: [{ text: shorten(name, NAME) }, { text: id, style: 'small' }] },
          ...[counts.requests, counts.approved, counts.denied, counts.expired].map(formatNumber),
          ...[counts.tokens_issued, counts.tokens_used, counts.tokens_revoked].map(formatNumber),
        ]),
    ),
    ...restOf(agents.length, LISTED, 'agent', 'agents'),
  ];
}

/** Who decided, and how often which way. */
export function decidersSection({ deciders }: ComplianceReport, number: number): Content[] {
  return [
    sectionHeading(number, 'Deciders'),
    {
      text: 'Policies that decided requests in the period, and people: whoever holds a user token of the account, programs too.',
      style: 'paragraph',
    },
    ruledTable(
      [
        { head: 'Decided by', share: 10 },
        { head: 'Kind', share: 3 },
        { head: 'Approved', share: 3, number: true },
        { head: 'Denied', share: 3, number: true },
        { head: 'Approved, %', share: 3, number: true },
      ],
      deciders.slice(0, LISTED).map(({ decided_by: id, kind, name, approved, denied }) => [
        {
          stack: [
            ...(name === null ? [] : [{ text: shorten(name, NAME) }]),
            { text: id, style: name === null ? '' : 'small' },
          ],
        },
        kind === 'person' ? 'Person' : 'Policy',
        formatNumber(approved),
        formatNumber(denied),
        percentage(approved, approved + denied),
      ]),
    ),
    ...restOf(deciders.length, LISTED, 'decider', 'deciders'),
  ];
}

function percentage(part: number, whole: number): string {
  return whole === 0 ? '–' : ((100 * part) / whole).toFixed(1);
}
