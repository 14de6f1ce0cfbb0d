import { newReport } from './core/checkpoint.ts';
import { formatEntries, type Report } from './core/findings.ts';
import type { ExportCheck } from './export-check.ts';
import { listFilters } from './request-filter.ts';

/**
 * Makes a report from the check of an export. The callers add to it what signatures and kept
 * checkpoints show.
 * @param isWholeLog whether the export was requested without limits, so that its request leaves no
 *   entries out
 */
export function reportExport(check: ExportCheck, { isWholeLog }: { isWholeLog: boolean }): Report {
  const { head, faults, rows, first, last, filtered, erased } = check;
  const proven = [
    rows === 0
      ? 'The file has no entries, and the proof has none either.'
      : `${formatEntries(rows)}, ${first} to ${last}, are in the file as they were sealed: none was changed, added or moved.`,
  ];
  if (!filtered && first !== null && last !== null) {
    const gone = erased.countUpTo(last) - erased.countUpTo(first - 1);
    proven.push(
      `No entry is missing between the first and the last: ${gone === 0 ? 'there are no gaps' : `the gaps are ${formatEntries(gone)} recorded as erased`}.`,
    );
  }
  return {
    ...newReport(head.checkpoint),
    proven,
    limits: [
      ...listOmissions(check, isWholeLog),
      ...(head.erased.length > 0
        ? [
            'Whether the erasures were legitimate: the service says so, and the tree does not prove it.',
          ]
        : []),
    ],
    faults,
  };
}

/**
 * The limits of a proof whose export leaves out entries, because of the dates and filters of its
 * request.
 */
function listOmissions(
  { head, first, last, filtered }: ExportCheck,
  isWholeLog: boolean,
): string[] {
  if (isWholeLog) return [];
  const { start_date, end_date } = head.request;
  const outside = `before ${first ?? 'the first'} and after ${last ?? 'the last'}`;
  const omissions = [
    `Whether entries ${outside} are missing: the request was for ${start_date} to ${end_date}.`,
  ];
  if (filtered) {
    const filters = listFilters(head.request).join('; ');
    omissions.push(
      `Whether entries between the first and the last are missing: the request had a filter (${filters}).`,
    );
  }
  return omissions;
}
