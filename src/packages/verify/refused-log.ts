import { stat } from 'node:fs/promises';
import { type Checkpoint, newReport, signerOf } from './core/checkpoint.ts';
import { CannotCheck, Fault, formatCount, formatEntries, type Report } from './core/findings.ts';
import type { JsonObject } from './core/json.ts';
import type { VerifierKey } from './core/note.ts';
import { compareHistory } from './history.ts';
import type { KeptCheckpoint } from './kept-checkpoints.ts';
import { readRows } from './rows.ts';

/** The known state of a log that the service refuses to sign or prove. */
export interface RefusedLogInput {
  /** The request that was refused, and the reason that the service gave. */
  why: string;
  /** The head that the service shows; null if it shows none. */
  shown: Checkpoint | null;
  /** The checkpoints that the user of this program kept, sorted by size. */
  kept: KeptCheckpoint[];
  keys: VerifierKey[];
  /** The export of the whole log as the API shows it; null if it was not requested yet. */
  auditExport: JsonObject | null;
  /** The path of the export's file, which may not exist. */
  file: string;
}

const MEANING =
  'the log in its database contradicts the heads that it signed. Somebody changed the database directly, or the database ' +
  'was restored to an earlier time and the recovery of its logs was not completed';
/** Maximum difference between the clocks of the service's machines, in milliseconds. */
const CLOCK_SKEW = 60_000;
/** Maximum gaps that the report lists. */
const MAX_GAPS = 5;

/**
 * Reports on a log that the service refuses. Compares the head that the service shows with the kept
 * checkpoints and with the service's clock. Nothing can be proven of the entries; the report only
 * says which ones the export lacks.
 * @throws Fault if the service shows no head, although one was kept
 * @throws CannotCheck if the service shows no head, and none was kept
 */
export async function checkRefusedLog(log: RefusedLogInput): Promise<Report> {
  const { why, shown, kept, keys } = log;
  const refusal = `The service itself refuses the log (${why}): ${MEANING}`;
  if (!shown) {
    const signed = await findLastSigned(kept, keys);
    if (!signed) {
      throw new CannotCheck(
        `${refusal}. It shows no signed head, and there is no kept checkpoint to compare with.`,
      );
    }
    const { size, time, where } = signed;
    throw new Fault(
      'history',
      `${refusal}. It shows no signed head, and ${formatCount(size, 'entry was', 'entries were')} signed on ${time} (${where})`,
    );
  }
  const signer = await signerOf(shown, keys, 'The checkpoint of the service');
  const report: Report = {
    ...newReport(shown),
    key: signer?.label ?? null,
    unchecked: [`${refusal}.`],
    faults: findFutureTime(shown, log.auditExport),
    refused: true,
  };
  if (report.faults.length === 0)
    await compareHistory(report, kept, shown, { keys, roots: new Map(), isNewest: true });
  report.unchecked.push(...(await describeGaps(log.file, shown)));
  if (report.faults.length > 0) report.faults.push(new Fault('refused', refusal));
  return report;
}

/** The last kept checkpoint that one of the keys signed. */
async function findLastSigned(
  kept: KeptCheckpoint[],
  keys: VerifierKey[],
): Promise<KeptCheckpoint | null> {
  for (const one of kept.toReversed()) {
    if (await signerOf(one, keys, one.where)) return one;
  }
  return null;
}

/**
 * Returns a fault if the head has a time in the future by the service's own clock, which dated the
 * export.
 */
function findFutureTime(shown: Checkpoint, auditExport: JsonObject | null): Fault[] {
  const clock = auditExport?.created_at;
  if (typeof clock !== 'string' || Date.parse(shown.time) <= Date.parse(clock) + CLOCK_SKEW)
    return [];
  const evidence = { signed_for: shown.time, clock_of_service: clock };
  return [new Fault('checkpoint', 'The checkpoint has a time in the future', { evidence })];
}

/**
 * Describes which entries the head covers but the export lacks. A refused log has no proof that
 * could say why.
 */
async function describeGaps(file: string, { size }: Checkpoint): Promise<string[]> {
  const exists = await stat(file).catch(() => null);
  if (!exists) return [];
  const gaps: [number, number][] = [];
  let next = 1;
  try {
    for await (const { sequence } of readRows(file, 'json')) {
      if (sequence > size) break;
      if (sequence > next) gaps.push([next, sequence - 1]);
      next = sequence + 1;
    }
  } catch (error) {
    return [`The export cannot be read: ${(error as Error).message}.`];
  }
  if (next <= size) gaps.push([next, size]);
  if (gaps.length === 0) return [];
  const missing = gaps.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  const named = gaps
    .slice(0, MAX_GAPS)
    .map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  const more = gaps.length > MAX_GAPS ? ' and more' : '';
  return [
    `${missing} of the ${formatEntries(size)} under the checkpoint are not in the export, and no signed record says that they were erased: ${named.join(', ')}${more}.`,
  ];
}
