import { accountInOrigin, type Checkpoint, signerOf } from './core/checkpoint.ts';
import { entryFault, Fault, formatEntries, type Report } from './core/findings.ts';
import { isJsonObject, type Json, type JsonObject } from './core/json.ts';
import type { VerifierKey } from './core/note.ts';
import { RangeSet } from './ranges.ts';

/**
 * A record in which the service states that it erased entries, or hides them until it does, and
 * why.
 */
export interface ErasureRecord {
  reason: string;
  /** The time of the erasure in ISO 8601; null if the entries are hidden and not erased yet. */
  time: string | null;
  /** The first and last sequence of each range. */
  ranges: [number, number][];
  /** The signed record; null if it is not signed. */
  note: string | null;
}

const KIND = 'countersign/erasure/v1';

/**
 * Reads an erasure record of a proof. Does not check its signature.
 * @throws SyntaxError if it is malformed
 */
export function readErasureRecord(value: Json): ErasureRecord {
  const { reason, erased_at, ranges, note } = isJsonObject(value) ? value : ({} as JsonObject);
  const time =
    typeof erased_at === 'string' && !Number.isNaN(Date.parse(erased_at)) ? erased_at : null;
  if (
    typeof reason !== 'string' ||
    (time === null && erased_at !== null) ||
    !Array.isArray(ranges)
  ) {
    throw new SyntaxError('an erasure record has no valid reason, time or ranges');
  }
  return {
    reason,
    time,
    ranges: ranges.map(readRange),
    note: typeof note === 'string' && note !== '' ? note : null,
  };
}

function readRange(value: Json): [number, number] {
  const [first, last, ...more] = Array.isArray(value) ? value : [];
  if (isSequence(first) && isSequence(last) && first <= last && more.length === 0)
    return [first, last];
  throw new SyntaxError(`${JSON.stringify(value).slice(0, 200)} is not a range of sequences`);
}

export function isSequence(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
}

/**
 * Checks who signed the erasure records of a proof, and adds the result to the report. A record
 * without a signature is a fault: somebody who deleted the entries could have written it.
 */
export async function checkErasureRecords(
  report: Report,
  erasures: ErasureRecord[],
  checkpoint: Checkpoint,
  keys: VerifierKey[],
): Promise<void> {
  const unknown: ErasureRecord[] = [];
  for (const erasure of erasures) {
    const [[sequence] = [0]] = erasure.ranges;
    try {
      if (!(await isSigned(erasure, checkpoint, keys))) unknown.push(erasure);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      report.faults.push(entryFault('missing', `is missing, and ${error.message}`, { sequence }));
      return;
    }
  }
  if (unknown.length > 0) {
    const gone = countIn(unknown, checkpoint);
    report.unchecked.push(
      `Who recorded the erasure of ${formatEntries(gone)}: the record is signed with a key that was not given.`,
    );
  }
  if (erasures.length > 0) {
    report.proven.push(
      `The log signed a record for the missing entries: ${describe(erasures, checkpoint)}.`,
    );
  }
}

/**
 * Whether one of the keys signed the record; false if another key did.
 * @throws Fault if it is not signed, or differs from what was signed
 */
async function isSigned(
  { reason, time, ranges, note }: ErasureRecord,
  checkpoint: Checkpoint,
  keys: VerifierKey[],
): Promise<boolean> {
  const refuse = (how: string) => new Fault('missing', `the record of its erasure ${how}`);
  if (note === null) throw refuse('is not signed');
  const origin = note.split('\n')[1] ?? '';
  const done = time === null ? `hidden ${checkpoint.time}` : `erased ${time}`;
  const places = ranges.map(([first, last]) => `${first}-${last}`).join(' ');
  const text = `${[KIND, origin, reason, done, places].join('\n')}\n`;
  if (!note.startsWith(`${text}\n— `)) throw refuse('differs from what was signed');
  // The service may have changed its host since; the account must be the same.
  if (accountInOrigin(origin) !== accountInOrigin(checkpoint.origin))
    throw refuse('was signed for another log');
  const signed = { ...checkpoint, origin, note };
  return (await signerOf(signed, keys, 'the record of its erasure')) !== null;
}

/** How many entries were erased for which reason, and when the last of them. */
function describe(erasures: ErasureRecord[], checkpoint: Checkpoint): string {
  const groups = Map.groupBy(erasures, ({ reason, time }) =>
    time === null ? 'hidden, to be erased later' : `erased (${reason})`,
  );
  const parts = [...groups].map(([what, group]) => {
    const last = group
      .map(({ time }) => time ?? '')
      .toSorted()
      .at(-1);
    return `${formatEntries(countIn(group, checkpoint))} ${what}${last && `, the last on ${last}`}`;
  });
  return parts.join('; ');
}

function countIn(erasures: ErasureRecord[], { size }: Checkpoint): number {
  return new RangeSet(erasures.flatMap(({ ranges }) => ranges)).countUpTo(size);
}
