import { stat } from 'node:fs/promises';
import { type Checkpoint, signerOf } from './checkpoint.ts';
import { CannotCheck, count, Fault, type Report } from './findings.ts';
import { compareHistory } from './history.ts';
import type { JsonObject } from './json.ts';
import type { KeptCheckpoint } from './kept-checkpoints.ts';
import type { VerifierKey } from './note.ts';
import { readRows } from './rows.ts';

/** What there is of a log that the service refuses. */
export interface RefusedLogInput {
  /** What the service refused. */
  why: string;
  /** The head that it shows; null where it shows none. */
  shown: Checkpoint | null;
  kept: KeptCheckpoint[];
  keys: VerifierKey[];
  /** The export that was made, and its file; null before it was asked for. */
  order: JsonObject | null;
  file: string;
}

const MEANING =
  'what its database holds of the log contradicts what it signed of the log. Somebody wrote to the database past the ' +
  'service, or the database was put back to an earlier time and its logs were not continued since';
/** Between clocks of a service, at most; in milliseconds. */
const CLOCK_SKEW = 60_000;
/** Gaps that are named. */
const MAX_GAPS = 5;

/**
 * Judges a log that the service itself refuses: whether what it shows is proven wrong by the kept checkpoints, or by
 * itself.
 * @throws Fault where it shows no head although one was kept
 * @throws CannotCheck where it shows no head and none was kept
 */
export async function checkRefusedLog(log: RefusedLogInput): Promise<Report> {
  const { why, shown, kept, keys } = log;
  const refusal = `The service itself refuses the log (${why}): ${MEANING}`;
  if (!shown) {
    const signed = kept.findLast((one) => signerOf(one, keys, one.where) !== null);
    if (!signed)
      throw new CannotCheck(`${refusal}. It shows no signed head, and no checkpoint that was kept says more.`);
    const { size, time, where } = signed;
    throw new Fault(
      'history',
      `${refusal}. It shows no signed head, and ${count(size, 'entry was', 'entries were')} signed on ${time} (${where})`,
    );
  }
  const report: Report = {
    log: shown.origin,
    checkpoint: { tree_size: shown.size, root_hash: shown.root.toString('hex'), timestamp: shown.time },
    key: signerOf(shown, keys, 'The checkpoint of the service')?.label ?? null,
    proven: [],
    limits: [],
    unchecked: [`${refusal}.`],
    faults: findFutureTime(shown, log.order),
    refused: true,
  };
  if (report.faults.length === 0) await compareHistory(report, kept, shown, { keys, roots: new Map(), isNewest: true });
  report.unchecked.push(...(await describeGaps(log.file, shown)));
  if (report.faults.length > 0) report.faults.push(new Fault('refused', refusal));
  return report;
}

/** A head whose time had not come when the service itself made the export. */
function findFutureTime(shown: Checkpoint, order: JsonObject | null): Fault[] {
  const clock = order?.created_at;
  if (typeof clock !== 'string' || Date.parse(shown.time) <= Date.parse(clock) + CLOCK_SKEW) return [];
  const evidence = { signed_for: shown.time, clock_of_service: clock };
  return [new Fault('checkpoint', 'The checkpoint was signed for a time that has not come', { evidence })];
}

/** Which entries that the head covers are not in the export: nothing that is signed says why. */
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
  const named = gaps.slice(0, MAX_GAPS).map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  const more = gaps.length > MAX_GAPS ? ' and more' : '';
  return [
    `Of the ${count(size, 'entry', 'entries')} under the checkpoint ${missing} are not in the export, and nothing that is signed says that they were erased: ${named.join(', ')}${more}.`,
  ];
}
