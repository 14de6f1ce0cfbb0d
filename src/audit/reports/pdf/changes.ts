import type { Content } from 'pdfmake/js/Printer.js';
import type { ActivityRecord, ComplianceReport } from '../report';
import { countOf, formatNumber, formatTime, shorten, wordsOf } from './format';
import { sectionHeading } from './headings';
import { ruledTable } from './tables';

/** How many changes of a record are shown, and how much of each, in characters. */
const [CHANGES, CHANGE] = [12, 300];

/** Key rotations and changes of the configuration, from the account activity. */
export function changesSection({ activity }: ComplianceReport, number: number): Content[] {
  return [
    sectionHeading(number, 'Key rotations and configuration changes'),
    { text: 'From the activity of the account, the newest first.', style: 'paragraph' },
    ruledTable(
      [
        { head: 'Action', share: 7 },
        { head: 'Records', share: 2, number: true },
      ],
      Object.entries(activity.by_action).map(([action, count]) => [wordsOf(action), formatNumber(count)]),
      'Records by action',
    ),
    records('Key rotations', activity.key_rotations),
    records('Configuration changes', activity.configuration_changes),
  ];
}

function records(caption: string, list: ActivityRecord[]): Content {
  return ruledTable(
    [
      { head: 'Time (UTC) and action', share: 10 },
      { head: 'By, and the record of it', share: 15 },
      { head: 'Target and changes', share: 19 },
    ],
    list.map((record) => [
      { stack: [{ text: formatTime(record.at) }, { text: wordsOf(record.action), bold: true }] },
      { stack: [{ text: record.actor ?? 'Nobody: by itself' }, { text: record.id, style: 'small' }] },
      { stack: [{ text: record.target }, ...changesOf(record)] },
    ]),
    caption,
  );
}

function changesOf({ changes }: ActivityRecord): Content[] {
  const shown = changes.slice(0, CHANGES).map((text) => shorten(text, CHANGE));
  const rest = changes.length - shown.length;
  if (rest > 0) shown.push(`${countOf(rest, 'more change', 'more changes')} in the JSON form`);
  return shown.map((text) => ({ text, style: 'small' }));
}
