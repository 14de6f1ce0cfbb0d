import type { Content } from 'pdfmake/js/Printer.js';
import type { Counts, ReportContent } from '../content';
import { formatCode, formatMonth, formatNumber, truncate } from '../wording';
import { type Column, omittedNote, ruledTable, sectionHeading } from './blocks';
import { monthlyChart } from './chart';
import { COLORS } from './style';

/** The section that says what the report covers and how its figures were computed. */
export function scopeSection(report: ReportContent, number: number): Content[] {
  const paragraphs = (texts: string[]) => texts.map((text): Content => ({ text, style: 'paragraph' }));
  return [
    sectionHeading(number, 'Scope and method'),
    { text: 'Scope', style: 'part' },
    ...paragraphs(report.scope),
    { text: 'Method', style: 'part' },
    ...paragraphs(report.method),
  ];
}

/** The figures of the whole period. */
export function summarySection({ summary }: ReportContent, number: number): Content[] {
  const decisionRow = (name: string, person: number, policy: number) => [
    name,
    formatNumber(person),
    formatNumber(policy),
    formatNumber(person + policy),
  ];
  const totals: [string, number][] = [
    ['Audit entries', summary.entries],
    ['Agents', summary.agents],
    ['Requests', summary.requests],
    ['Approved', summary.approved],
    ['Denied', summary.denied],
    ['Expired', summary.expired],
    ['Tokens issued', summary.tokens_issued],
    ['Tokens used', summary.tokens_used],
    ['Tokens revoked', summary.tokens_revoked],
  ];
  return [
    sectionHeading(number, 'Summary'),
    tiles(totals),
    ruledTable(
      [
        { head: 'Decision', share: 3 },
        { head: 'By people', share: 2, number: true },
        { head: 'By policies', share: 2, number: true },
        { head: 'Together', share: 2, number: true },
      ],
      [
        decisionRow('Approved', summary.approved_by_person, summary.approved_by_policy),
        decisionRow('Denied', summary.denied_by_person, summary.denied_by_policy),
      ],
      'Who decided',
    ),
    ruledTable(
      [
        { head: 'Event', share: 7 },
        { head: 'Entries', share: 2, number: true },
      ],
      Object.entries(summary.by_event_type).map(([type, count]) => [formatCode(type), formatNumber(count)]),
      'Audit entries by event',
    ),
  ];
}

/** Figures in large print, three in each row. */
function tiles(figures: [string, number][]): Content {
  const tile = ([name, value]: [string, number]): Content => ({
    stack: [
      { text: formatNumber(value), fontSize: 17, bold: true, color: COLORS.navy, lineHeight: 1 },
      { text: name, fontSize: 8, color: COLORS.muted },
    ],
    fillColor: COLORS.tint,
  });
  const rows = [0, 3, 6].map((start) => figures.slice(start, start + 3).map(tile));
  return { table: { widths: ['*', '*', '*'], body: rows }, layout: 'tiles', margin: [0, 2, 0, 20] };
}

/** The figures of every month, as two charts and a table. */
export function monthsSection({ months }: ReportContent, number: number): Content[] {
  const names = months.map(({ month }) => month);
  const values = <K extends keyof (typeof months)[number]>(key: K) => months.map((month) => month[key]);
  return [
    sectionHeading(number, 'Activity by month'),
    { text: 'Requests and their outcome', style: 'label' },
    monthlyChart(names, [
      { name: 'Requests', color: COLORS.navy, values: values('requests') },
      { name: 'Approved', color: COLORS.teal, values: values('approved') },
      { name: 'Denied', color: COLORS.rust, values: values('denied') },
      { name: 'Expired', color: COLORS.grey, values: values('expired') },
    ]),
    { text: 'Tokens', style: 'label' },
    monthlyChart(names, [
      { name: 'Issued', color: COLORS.navy, values: values('tokens_issued') },
      { name: 'Used', color: COLORS.teal, values: values('tokens_used') },
      { name: 'Revoked', color: COLORS.rust, values: values('tokens_revoked') },
    ]),
    ruledTable(
      [{ head: 'Month', share: 2 }, { head: 'Entries', share: 2, number: true }, ...countColumns(2)],
      months.map((month) => [formatMonth(month.month), formatNumber(month.entries), ...countCells(month)]),
    ),
  ];
}

/** How many agents, and how many deciders, the PDF lists. The JSON form has all of them. */
const LISTED = 200;
/** How many characters of a name a column shows. */
const NAME_CHARACTERS = 80;

/** The agents with their requests and tokens. */
export function agentsSection({ agents }: ReportContent, number: number): Content[] {
  return [
    sectionHeading(number, 'Agents'),
    { text: 'Agents with entries in the period, most requests first.', style: 'paragraph' },
    ruledTable(
      [{ head: 'Agent', share: 6.6 }, ...countColumns(1.9)],
      agents
        .slice(0, LISTED)
        .map(({ agent_id: id, name, counts }) => [
          { stack: [{ text: truncate(name, NAME_CHARACTERS) }, { text: id, style: 'small' }] },
          ...countCells(counts),
        ]),
    ),
    ...omittedNote(agents.length, LISTED, 'agent', 'agents'),
  ];
}

/** The policies and people who decided, with their approvals and denials. */
export function decidersSection({ deciders }: ReportContent, number: number): Content[] {
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
            ...(name === null ? [] : [{ text: truncate(name, NAME_CHARACTERS) }]),
            { text: id, style: name === null ? '' : 'small' },
          ],
        },
        kind === 'person' ? 'Person' : 'Policy',
        formatNumber(approved),
        formatNumber(denied),
        percentage(approved, approved + denied),
      ]),
    ),
    ...omittedNote(deciders.length, LISTED, 'decider', 'deciders'),
  ];
}

function percentage(part: number, whole: number): string {
  return whole === 0 ? '–' : ((100 * part) / whole).toFixed(1);
}

function countColumns(share: number): Column[] {
  const heads = ['Requests', 'Approved', 'Denied', 'Expired', 'Issued', 'Used', 'Revoked'];
  return heads.map((head) => ({ head, share, number: true }));
}

/** The cells of {@link countColumns}. */
function countCells(counts: Counts): string[] {
  const { requests, approved, denied, expired, tokens_issued, tokens_used, tokens_revoked } = counts;
  return [requests, approved, denied, expired, tokens_issued, tokens_used, tokens_revoked].map(formatNumber);
}
