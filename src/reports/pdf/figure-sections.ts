import type { Content } from 'pdfmake/js/Printer.js';
import { deciderKind } from '../../lib/decider';
import type { Counts, DeciderFigures, ReportContent } from '../content';
import { codeInWords, formatMonth, formatNumber, formatTimestamp, truncate } from '../wording';
import {
  type Column,
  numberColumn,
  omittedNote,
  paragraph,
  ruledTable,
  sectionHeading,
  textColumn,
} from './blocks';
import { monthlyChart } from './chart';
import { COLORS } from './style';

/** Writes the coverage of the report and how its figures were computed. */
export function scopeSection(report: ReportContent, number: number): Content[] {
  return [
    sectionHeading(number, 'Scope and method'),
    { text: 'Scope', style: 'subsection' },
    ...report.scope.map(paragraph),
    { text: 'Method', style: 'subsection' },
    ...report.method.map(paragraph),
  ];
}

/** The figures of the whole period. */
export function summarySection({ summary }: ReportContent, number: number): Content[] {
  const decisionRow = (name: string, person: number, policy: number, series: number) => {
    return [name, ...[person, policy, series, person + policy + series].map(formatNumber)];
  };
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
        textColumn('Decision', 3),
        numberColumn('By people', 2),
        numberColumn('By policies', 2),
        numberColumn('By series', 2),
        numberColumn('Together', 2),
      ],
      [
        decisionRow(
          'Approved',
          summary.approved_by_person,
          summary.approved_by_policy,
          summary.approved_by_series,
        ),
        decisionRow('Denied', summary.denied_by_person, summary.denied_by_policy, 0),
      ],
      'Who decided',
    ),
    ruledTable(
      [textColumn('Event', 7), numberColumn('Entries', 2)],
      Object.entries(summary.by_event_type).map(([type, count]) => [
        codeInWords(type),
        formatNumber(count),
      ]),
      'Audit entries by event',
    ),
  ];
}

/** Nine figures in large print, three in each row. */
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
  const values = (key: keyof Counts) => months.map((month) => month[key]);
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
      [textColumn('Month', 2), numberColumn('Entries', 2), ...countColumns(2)],
      months.map((month) => [
        formatMonth(month.month),
        formatNumber(month.entries),
        ...countCells(month),
      ]),
    ),
  ];
}

/** How many agents, and how many deciders, the PDF lists. The JSON form has all of them. */
const LISTED_ROWS = 200;
/** How many characters of a name a column shows. */
const NAME_CHARACTERS = 80;

/** The counts of each agent that has entries. */
export function agentsSection({ agents }: ReportContent, number: number): Content[] {
  return [
    sectionHeading(number, 'Agents'),
    paragraph('Agents with entries in the period, most requests first.'),
    ruledTable(
      [textColumn('Agent', 6.6), ...countColumns(1.9)],
      agents
        .slice(0, LISTED_ROWS)
        .map(({ agent_id: id, name, counts }) => [
          { stack: [{ text: truncate(name, NAME_CHARACTERS) }, { text: id, style: 'small' }] },
          ...countCells(counts),
        ]),
    ),
    ...omittedNote(agents.length, LISTED_ROWS, 'agent'),
  ];
}

/** The section on the outcomes of the acts, as their programs say. */
export function outcomesSection({ outcomes }: ReportContent, number: number): Content[] {
  const { succeeded, failed, unknown, awaited, unknown_acts: acts } = outcomes;
  const counts: [string, number][] = [
    ['Succeeded', succeeded],
    ['Failed', failed],
    ['Unknown', unknown],
    ['Not reported yet, within 10 minutes of the use', awaited],
  ];
  return [
    sectionHeading(number, 'Outcomes'),
    paragraph(
      'What happened after the uses in the period, as the programs say that took them. It is their own word: the service has not checked it, ' +
        'and it is not in the audit log. Failed means that the program saw an error, not that nothing happened. Acts whose programs promised ' +
        'no report are not counted.',
    ),
    ruledTable(
      [textColumn('Outcome', 7), numberColumn('Acts', 2)],
      counts.map(([name, count]) => [name, formatNumber(count)]),
    ),
    ruledTable(
      [textColumn('Request', 8), textColumn('Act', 8), textColumn('Used', 4)],
      acts.map(({ permission_id, action, resource, used_at, summary }) => [
        { stack: [{ text: permission_id, style: 'small' }] },
        {
          stack: [
            { text: `${action} on ${truncate(resource, NAME_CHARACTERS)}` },
            { text: truncate(summary ?? 'No report came.', NAME_CHARACTERS), style: 'small' },
          ],
        },
        formatTimestamp(used_at),
      ]),
      'Acts whose outcome is unknown',
    ),
    ...(acts.length < unknown
      ? [paragraph('The first are listed. The service lists all of them by their outcome.')]
      : []),
  ];
}

/**
 * The approvals, denials and votes of each member, of each policy, and with the account's own user
 * tokens together.
 */
export function decidersSection({ deciders }: ReportContent, number: number): Content[] {
  return [
    sectionHeading(number, 'Deciders'),
    paragraph(
      'Who decided requests in the period, most decisions first. A request that several people approve is approved by the last of them; for ' +
        'the others it counts as voted, as do votes on requests that somebody then denied or that expired. Signed says how many of these ' +
        'decisions and votes the member signed with a passkey, and By series how many further requests were approved by series that the member ' +
        'gave. The account’s own user tokens name no person: people and programs can hold them.',
    ),
    ruledTable(
      [
        textColumn('Decided by', 10),
        textColumn('Role', 4.4),
        numberColumn('Approved', 2.5),
        numberColumn('Denied', 2.5),
        numberColumn('Voted', 2.5),
        numberColumn('Signed', 2.5),
        numberColumn('By series', 2.5),
      ],
      deciders
        .slice(0, LISTED_ROWS)
        .map(({ decided_by: id, name, role, ...counts }) => [
          { stack: describeDecider(id, name) },
          roleInWords(id, role),
          ...[
            counts.approved,
            counts.denied,
            counts.voted,
            counts.signed,
            counts.by_series ?? 0,
          ].map(formatNumber),
        ]),
    ),
    ...omittedNote(deciders.length, LISTED_ROWS, 'decider'),
  ];
}

function describeDecider(id: string, name: string | null): Content[] {
  if (name === null) return [{ text: id, style: '' }];
  return [{ text: truncate(name, NAME_CHARACTERS) }, { text: id, style: 'small' }];
}

/** Returns the kind of a decider: a role of members if it is known. */
function roleInWords(id: string, role: DeciderFigures['role']): string {
  if (deciderKind(id) === 'policy') return 'Policy';
  if (deciderKind(id) !== 'member') return 'Account’s own tokens';
  if (role === null) return 'Member';
  return codeInWords(role);
}

/** The columns of a table of counts, without the entries. */
function countColumns(share: number): Column[] {
  const heads = ['Requests', 'Approved', 'Denied', 'Expired', 'Issued', 'Used', 'Revoked'];
  return heads.map((head) => numberColumn(head, share));
}

/** The cells of {@link countColumns}. */
function countCells(counts: Counts): string[] {
  const { requests, approved, denied, expired, tokens_issued, tokens_used, tokens_revoked } =
    counts;
  return [requests, approved, denied, expired, tokens_issued, tokens_used, tokens_revoked].map(
    formatNumber,
  );
}
