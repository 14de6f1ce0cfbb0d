import type { Content } from 'pdfmake/js/Printer.js';
import type { Control, ReportContent, ReportException, ReportedActivity } from '../content';
import { codeInWords, formatCount, formatNumber, formatTimestamp, truncate } from '../wording';
import {
  entryReferences,
  fitsOnPage,
  numberColumn,
  omittedNote,
  paragraph,
  ruledTable,
  sectionHeading,
  subsectionHeading,
  textColumn,
} from './blocks';
import { COLORS } from './style';

/** How many characters of a finding or an exception the PDF shows. */
const TEXT_CHARACTERS = 900;

/**
 * The controls of the framework, each with its evidence and with what the service has no evidence
 * for.
 */
export function controlsSection({ controls, framework }: ReportContent, number: number): Content[] {
  return [
    sectionHeading(number, 'Controls'),
    paragraph(
      `What the audit log holds for the controls of ${framework} that concern the access of agents, each sentence with the entries behind it.`,
    ),
    ...controls.flatMap((control, at) => controlSubsection(control, number, at + 1)),
  ];
}

/**
 * One control. Its heading stays on the page of the first finding, and “Not covered” on the page of
 * the last.
 */
function controlSubsection(control: Control, section: number, number: number): Content[] {
  const heading: Content[] = [
    subsectionHeading(section, number, `${control.id}  ${control.title}`),
    { text: 'Evidence held', style: 'label' },
  ];
  const limits: Content[] = [
    { text: 'Not covered', style: 'label' },
    { text: control.not_covered, margin: [0, 0, 0, 8] },
  ];
  const findings = control.evidence.map((finding): Content[] => [
    { text: truncate(finding.text, TEXT_CHARACTERS) },
    { stack: [entryReferences(finding)], margin: [0, 0, 0, 6] },
  ]);
  findings[0]?.unshift(...heading);
  findings.at(-1)?.push(...limits);
  return findings.map((stack) => ({ stack, unbreakable: fitsOnPage(stack) }));
}

/** How many exceptions the PDF lists. The JSON form has all of them. */
const LISTED_EXCEPTIONS = 60;

/** Colors that make a severity easy to find; the badge also has it as a word. */
const BADGES: Record<ReportException['severity'], { fillColor: string; color: string }> = {
  high: { fillColor: COLORS.rust, color: '#ffffff' },
  medium: { fillColor: '#f0dccb', color: COLORS.ink },
  low: { fillColor: COLORS.tint, color: COLORS.ink },
};

/** The exceptions, the most severe first. */
export function exceptionsSection({ exceptions }: ReportContent, number: number): Content[] {
  const counts = Object.keys(BADGES).map(
    (severity) => `${exceptions.filter((one) => one.severity === severity).length} ${severity}`,
  );
  return [
    sectionHeading(number, 'Exceptions'),
    paragraph(
      `${formatCount(exceptions.length, 'exception deserves', 'exceptions deserve')} an auditor’s eye: ${counts.join(', ')}. An exception is no finding of a fault.`,
    ),
    ruledTable(
      [textColumn('Severity', 2), textColumn('Exception', 15)],
      exceptions.slice(0, LISTED_EXCEPTIONS).map((one) => [
        badge(one.severity),
        {
          stack: [
            { text: codeInWords(one.kind), bold: true },
            { text: truncate(one.text, TEXT_CHARACTERS) },
            entryReferences(one),
          ],
        },
      ]),
    ),
    ...omittedNote(exceptions.length, LISTED_EXCEPTIONS, 'exception'),
  ];
}

function badge(severity: ReportException['severity']): Content {
  const text = codeInWords(severity);
  const cell: Content = { text, fontSize: 7, bold: true, alignment: 'center', ...BADGES[severity] };
  return { table: { widths: ['*'], body: [[cell]] }, layout: 'badge' };
}

/** How many changes of an activity record the PDF shows. */
const LISTED_CHANGES = 12;
/** How many characters of each change the PDF shows. */
const CHANGE_CHARACTERS = 300;

/**
 * The account activity: the number of records by action, and the newest key rotations and
 * configuration changes.
 */
export function changesSection({ activity }: ReportContent, number: number): Content[] {
  return [
    sectionHeading(number, 'Key rotations and configuration changes'),
    paragraph('From the activity of the account, the newest first.'),
    ruledTable(
      [textColumn('Action', 7), numberColumn('Records', 2)],
      Object.entries(activity.by_action).map(([action, count]) => [
        codeInWords(action),
        formatNumber(count),
      ]),
      'Records by action',
    ),
    activityTable('Key rotations', activity.key_rotations),
    activityTable('Configuration changes', activity.configuration_changes),
  ];
}

function activityTable(caption: string, records: ReportedActivity[]): Content {
  return ruledTable(
    [
      textColumn('Time (UTC) and action', 10),
      textColumn('By, and the record of it', 15),
      textColumn('Target and changes', 19),
    ],
    records.map((record) => [
      {
        stack: [
          { text: formatTimestamp(record.at) },
          { text: codeInWords(record.action), bold: true },
        ],
      },
      {
        stack: [{ text: record.actor ?? 'Nobody: by itself' }, { text: record.id, style: 'small' }],
      },
      { stack: [{ text: record.target }, ...changeLines(record)] },
    ]),
    caption,
  );
}

function changeLines({ changes }: ReportedActivity): Content[] {
  const shown = changes.slice(0, LISTED_CHANGES).map((text) => truncate(text, CHANGE_CHARACTERS));
  const omitted = changes.length - shown.length;
  if (omitted > 0) shown.push(`${formatCount(omitted, 'more change')} in the JSON form`);
  return shown.map((text) => ({ text, style: 'small' }));
}

/** How many characters of an entry's details the PDF shows. */
const DETAILS_CHARACTERS = 600;

/** The entries of the sample, for an auditor to test. */
export function sampleSection({ sample }: ReportContent, number: number): Content[] {
  return [
    sectionHeading(number, 'Sample for testing'),
    paragraph(
      `${formatCount(sample.length, 'entry', 'entries')}, drawn in an order that only the report’s id determines. A second draw from the same log gives the same entries.`,
    ),
    ruledTable(
      [
        numberColumn('No.', 2),
        textColumn('Time (UTC) and event', 5),
        textColumn('Entry, agent and permission; details', 15),
      ],
      sample.map((entry) => [
        formatNumber(entry.sequence),
        {
          stack: [
            { text: formatTimestamp(entry.created_at) },
            { text: codeInWords(entry.event_type), bold: true },
            { text: entry.ip_address, style: 'small' },
            { text: truncate(entry.user_agent, 120), style: 'small' },
          ],
        },
        {
          stack: [
            { text: entry.id },
            { text: entry.agent_id },
            { text: entry.permission_request_id },
            { text: truncate(JSON.stringify(entry.details), DETAILS_CHARACTERS), style: 'small' },
          ],
        },
      ]),
    ),
  ];
}
