import { accountOf, type Checkpoint, signerOf } from './checkpoint.ts';
import { count, entryFault, Fault, type Report } from './findings.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';
import type { VerifierKey } from './note.ts';
import { Ranges } from './ranges.ts';

/** Entries that are gone by right, as the service recorded it. */
export interface Erasure {
  reason: string;
  /** When they were erased, ISO 8601; null for what is hidden and waits for its erasure. */
  time: string | null;
  /** First and last sequence of each. */
  ranges: [number, number][];
  /** The record as it was signed; null where it was not. */
  note: string | null;
}

const KIND = 'countersign/erasure/v1';

/** @throws SyntaxError */
export function readErasure(value: Json): Erasure {
  const { reason, erased_at, ranges, note } = isJsonObject(value) ? value : ({} as JsonObject);
  const time = typeof erased_at === 'string' && !Number.isNaN(Date.parse(erased_at)) ? erased_at : null;
  if (typeof reason !== 'string' || (time === null && erased_at !== null) || !Array.isArray(ranges)) {
    throw new SyntaxError('an erasure lacks its reason, time or ranges');
  }
  return { reason, time, ranges: ranges.map(readRange), note: typeof note === 'string' && note !== '' ? note : null };
}

function readRange(value: Json): [number, number] {
  const [first, last, ...more] = Array.isArray(value) ? value : [];
  if (isSequence(first) && isSequence(last) && first <= last && more.length === 0) return [first, last];
  throw new SyntaxError(`${JSON.stringify(value).slice(0, 200)} is no range of sequences`);
}

function isSequence(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
}

/**
 * Checks who recorded the erasures that a proof speaks of, and adds to the report what it finds: a record that the log's
 * key did not sign is one that whoever deleted the entries could have made.
 */
export function checkErasures(report: Report, erasures: Erasure[], checkpoint: Checkpoint, keys: VerifierKey[]): void {
  const unknown: Erasure[] = [];
  for (const erasure of erasures) {
    const [[sequence] = [0]] = erasure.ranges;
    try {
      if (!isSigned(erasure, checkpoint, keys)) unknown.push(erasure);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      report.faults.push(entryFault('missing', `is not there, and ${error.message}`, { sequence }));
      return;
    }
  }
  if (unknown.length > 0) {
    const gone = countIn(unknown, checkpoint);
    report.unchecked.push(
      `Who recorded that ${count(gone, 'entry was', 'entries were')} erased: signed with a key that is not among those given.`,
    );
  }
  if (erasures.length > 0)
    report.proven.push(`Of what is not there the log signed: ${describe(erasures, checkpoint)}.`);
}

/**
 * Whether one of the keys signed the record; false where another one did.
 * @throws Fault where nobody did, or something else was signed
 */
function isSigned({ reason, time, ranges, note }: Erasure, checkpoint: Checkpoint, keys: VerifierKey[]): boolean {
  const refuse = (how: string) => new Fault('missing', `the record of its erasure ${how}`);
  if (note === null) throw refuse('is not signed');
  const origin = note.split('\n')[1] ?? '';
  const done = time === null ? `hidden ${checkpoint.time}` : `erased ${time}`;
  const places = ranges.map(([first, last]) => `${first}-${last}`).join(' ');
  const text = `${[KIND, origin, reason, done, places].join('\n')}\n`;
  if (!note.startsWith(`${text}\n— `)) throw refuse('says something else than what was signed');
  // The service may have moved to another host since; the account is the same.
  if (accountOf(origin) !== accountOf(checkpoint.origin)) throw refuse('was signed for another log');
  return signerOf({ ...checkpoint, origin, note }, keys, 'the record of its erasure') !== null;
}

/** How many entries are gone for which reasons, and when the last went. */
function describe(erasures: Erasure[], checkpoint: Checkpoint): string {
  const groups = Map.groupBy(erasures, ({ reason, time }) =>
    time === null ? 'hidden, and to be erased' : `erased (${reason})`,
  );
  const parts = [...groups].map(([what, group]) => {
    const last = group
      .map(({ time }) => time ?? '')
      .toSorted()
      .at(-1);
    return `${count(countIn(group, checkpoint), 'entry', 'entries')} ${what}${last && `, the last on ${last}`}`;
  });
  return parts.join('; ');
}

function countIn(erasures: Erasure[], { size }: Checkpoint): number {
  return new Ranges(erasures.flatMap(({ ranges }) => ranges)).countUpTo(size);
}
