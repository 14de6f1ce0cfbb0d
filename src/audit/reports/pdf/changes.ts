import type { Content } from 'pdfmake/js/Printer.js';
import type { ActivityRecord, ComplianceReport } from '../report';
import { formatNumber, formatTime, wordsOf } from './format';
import { sectionHeading } from './headings';
import { ruledTable } from './tables';

/** Key rotations and changes of the configuration, from the account activity. */
export function changesSection({ activity }: ComplianceReport, number: number): Content[] {
  const actions = Object.entries(activity.by_action);
  return [
    sectionHeading(number, 'Key rotations and configuration changes'),
    { text: 'From the activity of the account, the newest first.', style: 'paragraph' },
    ...(actions.length === 0
      ? [{ text: 'The account activity has no record in the period.', style: 'note' }]
      : [
          ruledTable(
            [
              { head: 'Action', share: 7 },
              { head: 'Records', share: 2, number: true },
            ],
            actions.map(([action, count]) => [wordsOf(action), formatNumber(count)]),
            'Records by action',
          ),
        ]),
    records('Key rotations', activity.key_rotations),
    records('Configuration changes', activity.configuration_changes),
  ];
}

function records(caption: string, list: ActivityRecord[]): Content {
  if (list.length === 0) {
    return {
      stack: [
        { text: caption, style: 'caption' },
        { text: 'None in the period.', style: 'note' },
      ],
      unbreakable: true,
    };
  }
  return ruledTable(
    [
      { head: 'Time (UTC) and action', share: 10 },
      { head: 'By, and the record of it', share: 15 },
      { head: 'Target and changes', share: 19 },
    ],
    list.map((record) => [
      { stack: [{ text: formatTime(record.at) }, { text: wordsOf(record.action), bold: true }] },
      { stack: [{ text: record.actor ?? 'Nobody: by itself' }, { text: record.id, style: 'small' }] },
      { stack: [{ text: record.target }, ...record.changes.map((text) => ({ text, style: 'small' }))] },
    ]),
    caption,
  );
}
