import type { ExportCheck } from './export-check.ts';
import { count, type Report } from './findings.ts';

/** Makes a report from the check of an export. Signatures and kept checkpoints are added to it later. */
export function reportExport(check: ExportCheck, complete: boolean): Report {
  const { head, faults, rows, first, last, filtered, erased } = check;
  const { origin, size, root, time } = head.checkpoint;
  const proven = [
    rows === 0
      ? 'The file has no entries, and the proof has none either.'
      : `${count(rows, 'entry', 'entries')}, ${first} to ${last}, are in the file as they were sealed: none was changed, added or moved.`,
  ];
  if (!filtered && first !== null && last !== null) {
    const gone = erased.countUpTo(last) - erased.countUpTo(first - 1);
    proven.push(
      `No entry is missing between the first and the last: ${gone === 0 ? 'there are no gaps' : `the gaps are ${count(gone, 'entry', 'entries')} recorded as erased`}.`,
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
        ? ['Whether the erasures were legitimate: the service says so, and the tree does not prove it.']
        : []),
    ],
    unchecked: [],
    faults,
    refused: false,
  };
}

/** The entries that the export leaves out because of the dates and filters of the request. */
function listOmissions({ head, first, last, filtered }: ExportCheck, complete: boolean): string[] {
  if (complete) return [];
  const { start_date, end_date, agent_id, event_types } = head.request;
  const outside = `before ${first ?? 'the first'} and after ${last ?? 'the last'}`;
  const omissions = [`Whether entries ${outside} are missing: the request was for ${start_date} to ${end_date}.`];
  if (filtered) {
    const filters = [
      agent_id === null ? [] : ['one agent'],
      event_types === null ? [] : [event_types.join(', ')],
    ].flat();
    omissions.push(
      `Whether entries between the first and the last are missing: the request had a filter (${filters.join('; ')}).`,
    );
  }
  return omissions;
}
