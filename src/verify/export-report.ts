import type { ExportCheck } from './export-check.ts';
import { count, type Report } from './findings.ts';

/** Begins a report with what the check of an export found. Who signed, and what was kept, is added to it. */
export function reportExport(check: ExportCheck, complete: boolean): Report {
  const { head, faults, rows, first, last, filtered, erased } = check;
  const { origin, size, root, time } = head.checkpoint;
  const proven = [
    rows === 0
      ? 'The file has no entries, and that is what the proof says.'
      : `${count(rows, 'entry', 'entries')}, ${first} to ${last}, are in the file as they were sealed: none changed, added or out of place.`,
  ];
  if (!filtered && first !== null && last !== null) {
    const gone = erased.countUpTo(last) - erased.countUpTo(first - 1);
    proven.push(
      `None is missing between the first and the last: ${gone === 0 ? 'there are no gaps' : `the gaps are ${count(gone, 'entry', 'entries')} recorded as erased`}.`,
    );
  }
  return {
    log: origin,
    checkpoint: { tree_size: size, root_hash: root.toString('hex'), timestamp: time },
    key: null,
    proven,
    limits: [
      ...listOmissions(check, complete),
      ...(head.erased.length > 0
        ? ['That what was erased was erased by right is the word of the service; the tree does not cover it.']
        : []),
    ],
    unchecked: [],
    faults,
    refused: false,
  };
}

/** What an export of some dates or kinds leaves out on request, and so cannot show. */
function listOmissions({ head, first, last, filtered }: ExportCheck, complete: boolean): string[] {
  if (complete) return [];
  const { start_date, end_date, agent_id, event_types } = head.request;
  const outside = `before ${first ?? 'the first'} and after ${last ?? 'the last'}`;
  const omissions = [
    `It was asked for from ${start_date} to ${end_date}: whether entries ${outside} are missing, the file cannot show.`,
  ];
  if (filtered) {
    const filters = [
      agent_id === null ? [] : ['one agent'],
      event_types === null ? [] : [event_types.join(', ')],
    ].flat();
    omissions.push(
      `It was asked for with a filter (${filters.join('; ')}): whether an entry of these is missing, it cannot show.`,
    );
  }
  return omissions;
}
