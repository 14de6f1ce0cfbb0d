import { isEqual, toHex } from './core/bytes.ts';
import { accountInOrigin, type Checkpoint, signerOf } from './core/checkpoint.ts';
import { Fault, formatCount, formatEntries, type Report } from './core/findings.ts';
import { type TreeHead, verifyConsistency } from './core/merkle.ts';
import type { VerifierKey } from './core/note.ts';
import type { KeptCheckpoint } from './kept-checkpoints.ts';

export interface CompareHistoryOptions {
  keys: VerifierKey[];
  /** The roots of the log at some sizes, computed from the proof of an export. */
  roots: Map<number, Uint8Array>;
  /** Whether the checkpoint is the newest of its log, so that no kept checkpoint can be larger. */
  isNewest: boolean;
  /**
   * Fetches a consistency proof between two sizes; absent offline, and if the service refuses the
   * log.
   */
  fetchConsistencyPath?: (from: number, to: number) => Promise<Uint8Array[]>;
}

/**
 * Checks that the log of a checkpoint is consistent with every kept checkpoint, and adds the result
 * to the report. Stops at the first fault.
 * @param kept sorted by size
 */
export async function compareHistory(
  report: Report,
  kept: KeptCheckpoint[],
  checkpoint: Checkpoint,
  options: CompareHistoryOptions,
): Promise<void> {
  const agreed: KeptCheckpoint[] = [];
  const [later, unknown, beyondProof]: [KeptCheckpoint[], KeptCheckpoint[], KeptCheckpoint[]] = [
    [],
    [],
    [],
  ];
  for (const one of kept) {
    try {
      if ((await signerOf(one, options.keys, one.where)) === null) unknown.push(one);
      requireSameLog(one, checkpoint);
      if (one.size > checkpoint.size && !options.isNewest) {
        later.push(one);
        continue;
      }
      const isProven = await isConsistent(one, checkpoint, options);
      if (options.isNewest) requireEarlier(one, checkpoint);
      (isProven ? agreed : beyondProof).push(one);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const last = agreed.at(-1);
      report.faults.push(
        new Fault(error.kind, error.message, {
          evidence: {
            ...error.evidence,
            ...(last && { still_right_at_size: last.size, kept_on: last.time }),
          },
        }),
      );
      return;
    }
  }
  const [oldest] = agreed;
  if (oldest) {
    report.proven.push(
      `The log is consistent with ${formatCount(agreed.length, 'kept checkpoint')}, the oldest from ${oldest.time} with ${formatEntries(oldest.size)}.`,
    );
  }
  const addLimit = (checkpoints: KeptCheckpoint[], why: string) => {
    if (checkpoints.length > 0)
      report.limits.push(`${formatCount(checkpoints.length, 'kept checkpoint')} ${why}`);
  };
  addLimit(later, 'of a larger log cannot be compared with this older proof.');
  addLimit(
    beyondProof,
    options.isNewest
      ? 'of a smaller log cannot be compared: the service gives no consistency proof.'
      : 'cannot be compared offline: this proof does not contain the roots at their sizes.',
  );
  const renamed = kept.filter(({ origin }) => origin !== checkpoint.origin);
  const names = [...new Set(renamed.map(({ origin }) => origin))].join(', ');
  addLimit(
    renamed,
    `with another name of the log (${names}): for the same account, on an earlier host of the service.`,
  );
  addLimit(
    unknown,
    'with a signature of a key that was not given: compared, but the signature was not checked.',
  );
}

/**
 * Compares only the accounts: the service may have changed its host since, which is part of the
 * log's name.
 * @throws Fault
 */
function requireSameLog(kept: KeptCheckpoint, { origin }: Checkpoint): void {
  if (accountInOrigin(kept.origin) === accountInOrigin(origin)) return;
  throw new Fault('history', `${kept.where} belongs to another log: ${kept.origin}, not ${origin}`);
}

/** @throws Fault if a checkpoint has a later time than the newest one */
function requireEarlier({ time, where }: KeptCheckpoint, newest: Checkpoint): void {
  if (time <= newest.time) return;
  throw new Fault(
    'history',
    `The time of the log went backwards: ${where} is later than its newest checkpoint`,
    {
      evidence: { time_kept: time, time_now: newest.time },
    },
  );
}

/**
 * Whether the checkpoint's tree is proven to be an extension of a kept tree; false if that cannot
 * be checked.
 * @throws Fault if it is not
 */
async function isConsistent(
  kept: KeptCheckpoint,
  checkpoint: Checkpoint,
  { roots, fetchConsistencyPath }: CompareHistoryOptions,
): Promise<boolean> {
  const { size, root, time, where } = kept;
  if (size > checkpoint.size) throw shrunkLogFault(kept, checkpoint);
  const known = size === checkpoint.size ? checkpoint.root : roots.get(size);
  if (known) {
    if (isEqual(known, root)) return true;
    throw new Fault(
      'history',
      `The log was rewritten: its first ${formatEntries(size)} differ from those of ${time} (${where})`,
      { evidence: { size, root_now: toHex(known), root_kept: toHex(root) } },
    );
  }
  if (!fetchConsistencyPath) return false;
  const path = await fetchConsistencyPath(size, checkpoint.size);
  if (await verifyConsistency(kept, checkpoint, path)) return true;
  throw inconsistentLogFault(kept, checkpoint, `the checkpoint of ${time} (${where})`);
}

/** The fault of a log that has fewer entries than before. */
export function shrunkLogFault(before: TreeHead, now: TreeHead): Fault {
  return new Fault('history', `The log shrank from ${formatEntries(before.size)} to ${now.size}`, {
    evidence: { size_before: before.size, size_now: now.size },
  });
}

/**
 * The fault of a log that is not an extension of an earlier one.
 * @param which names the earlier checkpoint in the message
 */
export function inconsistentLogFault(before: TreeHead, now: TreeHead, which: string): Fault {
  const how = `The log with ${formatEntries(now.size)} is not consistent with ${which}, with ${before.size}`;
  return new Fault('history', how, {
    evidence: {
      size_before: before.size,
      root_before: toHex(before.root),
      size_now: now.size,
      root_now: toHex(now.root),
    },
  });
}
