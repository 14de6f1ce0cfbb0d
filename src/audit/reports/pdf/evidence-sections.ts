import type { Content } from 'pdfmake/js/Printer.js';
import type { ActivityRecord, Control, Finding, ReportContent, ReportException } from '../content';
import { formatCode, formatCount, formatNumber, formatSeconds, truncate } from '../wording';
import { entryReferences, fitsOnPage, omittedNote, partHeading, ruledTable, sectionHeading } from './blocks';
import { COLORS } from './style';

/** How many characters of a finding or an exception the PDF shows. */
const TEXT_CHARACTERS = 900;

/** The controls of the framework, each with its evidence and with what the log cannot show. */
export function controlsSection({ controls, framework }: ReportContent, number: number): Content[] {
  return [
    sectionHeading(number, 'Controls'),
    {
      text: `What the audit log holds for the controls of ${framework} that concern the access of agents, each sentence with the entries behind it.`,
      style: 'paragraph',
    },
    ...controls.flatMap((control, at) => controlPart(control, number, at + 1)),
  ];
}

/** One control. Its heading stays on the page of the first finding, and “Not covered” on the page of the last. */
function controlPart(control: Control, section: number, part: number): Content[] {
  const heading: Content[] = [
    partHeading(section, part, `${control.id}  ${control.title}`),
    { text: 'Evidence held', style: 'label' },
  ];
  const limits: Content[] = [
    { text: 'Not covered', style: 'label' },
    { text: control.not_covered, margin: [0, 0, 0, 8] },
  ];
  const none: Content[] = [{ text: 'The log holds no evidence for this control in the period.' }];
  const blocks = control.evidence.length > 0 ? control.evidence.map(findingBlock) : [none];
  return blocks.map((block, at) => {
    const stack = [...(at === 0 ? heading : []), ...block, ...(at === blocks.length - 1 ? limits : [])];
    return { stack, unbreakable: fitsOnPage(stack) };
  });
}

function findingBlock(finding: Finding): Content[] {
  return [
    { text: truncate(finding.text, TEXT_CHARACTERS) },
    { stack: [entryReferences(finding)], margin: [0, 0, 0, 6] },
  ];
}

/** How many exceptions the PDF lists. The JSON form has all of them. */
const LISTED_EXCEPTIONS = 60;

const SEVERITIES = ['high', 'medium', 'low'] as const;

/** Colors that make a severity easy to find; the badge also has it as a word. */
const BADGES: Record<ReportException['severity'], { fillColor: string; color: string }> = {
  high: { fillColor: COLORS.rust, color: '#ffffff' },
  medium: { fillColor: '#f0dccb', color: COLORS.ink },
  low: { fillColor: COLORS.tint, color: COLORS.ink },
};

/** The exceptions, the most severe first. */
export function exceptionsSection({ exceptions }: ReportContent, number: number): Content[] {
  const counts = SEVERITIES.map((severity) => {
    const count = exceptions.filter((one) => one.severity === severity).length;
    return `${count} ${severity}`;
  });
  return [
    sectionHeading(number, 'Exceptions'),
    {
      text: `${formatCount(exceptions.length, 'exception deserves', 'exceptions deserve')} an auditor’s eye: ${counts.join(', ')}. An exception is no finding of a fault.`,
      style: 'paragraph',
    },
    ruledTable(
      [
        { head: 'Severity', share: 2 },
        { head: 'Exception', share: 15 },
      ],
      exceptions.slice(0, LISTED_EXCEPTIONS).map((one) => [
        badge(one.severity),
        {
          stack: [
            { text: formatCode(one.kind), bold: true },
            { text: truncate(one.text, TEXT_CHARACTERS) },
            entryReferences(one),
          ],
        },
      ]),
    ),
    ...omittedNote(exceptions.length, LISTED_EXCEPTIONS, 'exception', 'exceptions'),
  ];
}

function badge(severity: ReportException['severity']): Content {
  const text = formatCode(severity);
  return {
    table: { widths: ['*'], body: [[{ text, fontSize: 7, bold: true, alignment: 'center', ...BADGES[severity] }]] },
    layout: 'badge',
  };
}

/** How many changes of an activity record the PDF shows, and how many characters of each. */
const [LISTED_CHANGES, CHANGE_CHARACTERS] = [12, 300];

/** Key rotations and configuration changes from the account activity. */
export function changesSection({ activity }: ReportContent, number: number): Content[] {
  return [
    sectionHeading(number, 'Key rotations and configuration changes'),
    { text: 'From the activity of the account, the newest first.', style: 'paragraph' },
    ruledTable(
      [
        { head: 'Action', share: 7 },
        { head: 'Records', share: 2, number: true },
      ],
      Object.entries(activity.by_action).map(([action, count]) => [formatCode(action), formatNumber(count)]),
      'Records by action',
    ),
    recordTable('Key rotations', activity.key_rotations),
    recordTable('Configuration changes', activity.configuration_changes),
  ];
}

function recordTable(caption: string, list: ActivityRecord[]): Content {
  return ruledTable(
    [
      { head: 'Time (UTC) and action', share: 10 },
      { head: 'By, and the record of it', share: 15 },
      { head: 'Target and changes', share: 19 },
    ],
    list.map((record) => [
      { stack: [{ text: formatSeconds(record.at) }, { text: formatCode(record.action), bold: true }] },
      { stack: [{ text: record.actor ?? 'Nobody: by itself' }, { text: record.id, style: 'small' }] },
      { stack: [{ text: record.target }, ...changeLines(record)] },
    ]),
    caption,
  );
}

function changeLines({ changes }: ActivityRecord): Content[] {
  const shown = changes.slice(0, LISTED_CHANGES).map((text) => truncate(text, CHANGE_CHARACTERS));
  const omitted = changes.length - shown.length;
  if (omitted > 0) shown.push(`${formatCount(omitted, 'more change', 'more changes')} in the JSON form`);
  return shown.map((text) => ({ text, style: 'small' }));
}

/** How many characters of an entry's details the PDF shows. */
const DETAILS_CHARACTERS = 600;

/** The entries of the sample, for an auditor to test. */
export function sampleSection({ sample }: ReportContent, number: number): Content[] {
  return [
    sectionHeading(number, 'Sample for testing'),
    {
      text: `${formatCount(sample.length, 'entry', 'entries')}, drawn by an order that only the report’s id determines: whoever draws again from the same log gets the same.`,
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
            { text: formatSeconds(entry.created_at) },
            { text: formatCode(entry.event_type), bold: true },
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
