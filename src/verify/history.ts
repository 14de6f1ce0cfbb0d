import { accountOf, type Checkpoint, signerOf } from './checkpoint.ts';
import { count, Fault, type Report } from './findings.ts';
import type { KeptCheckpoint } from './kept-checkpoints.ts';
import { type TreeHead, verifyConsistency } from './merkle.ts';
import type { VerifierKey } from './note.ts';

export interface HistoryOptions {
  keys: VerifierKey[];
  /** Roots at some sizes, computed from the entries and hashes of a proof that leads to the checkpoint. */
  roots: Map<number, Buffer>;
  /** Whether the checkpoint is the newest of its log, so that no larger one can have been kept. */
  isNewest: boolean;
  /** Asks for a consistency proof between two sizes; absent offline, and where the service refuses the log. */
  fetchConsistencyPath?: (from: number, to: number) => Promise<Buffer[]>;
}

/**
 * Checks that the log of a checkpoint grew out of every checkpoint that was kept, and adds to the report what it finds.
 * @param kept smallest log first
 */
export async function compareHistory(
  report: Report,
  kept: KeptCheckpoint[],
  checkpoint: Checkpoint,
  options: HistoryOptions,
): Promise<void> {
  const agreed: KeptCheckpoint[] = [];
  const [later, unknown, beyondProof]: [KeptCheckpoint[], KeptCheckpoint[], KeptCheckpoint[]] = [[], [], []];
  for (const one of kept) {
    try {
      if (signerOf(one, options.keys, one.where) === null) unknown.push(one);
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
          evidence: { ...error.evidence, ...(last && { still_right_at_size: last.size, kept_on: last.time }) },
        }),
      );
      return;
    }
  }
  const [oldest] = agreed;
  if (oldest) {
    report.proven.push(
      `The log grew out of ${count(agreed.length, 'kept checkpoint')}, the oldest of ${oldest.time} with ${count(oldest.size, 'entry', 'entries')}.`,
    );
  }
  const say = (what: KeptCheckpoint[], why: string) => {
    if (what.length > 0) report.limits.push(`${count(what.length, 'kept checkpoint')} ${why}`);
  };
  say(later, 'of a larger log cannot be compared with this older proof.');
  say(
    beyondProof,
    options.isNewest
      ? 'of a smaller log cannot be compared: the service gives no consistency proof.'
      : 'cannot be compared offline: this proof has no leaves around their sizes.',
  );
  const renamed = kept.filter(({ origin }) => origin !== checkpoint.origin);
  const names = [...new Set(renamed.map(({ origin }) => origin))].join(', ');
  say(renamed, `under another name of the log (${names}): of the same account, on a host that the service had.`);
  say(unknown, 'with a signature by a key that is not among those given now: compared, but not as signed.');
}

/**
 * Compares the accounts alone: the service may have moved to another host since, under which the log goes on.
 * @throws Fault
 */
function requireSameLog(kept: KeptCheckpoint, { origin }: Checkpoint): void {
  if (accountOf(kept.origin) === accountOf(origin)) return;
  throw new Fault('history', `${kept.where} is a checkpoint of another log: ${kept.origin}, not ${origin}`);
}

/** @throws Fault where a checkpoint was signed for a later time than the newest one */
function requireEarlier({ time, where }: KeptCheckpoint, newest: Checkpoint): void {
  if (time <= newest.time) return;
  const evidence = { time_kept: time, time_now: newest.time };
  throw new Fault('history', `The time of the log ran backwards: ${where} is later than its newest checkpoint`, {
    evidence,
  });
}

/**
 * Whether a kept tree is what the checkpoint's tree began with; false where that cannot be told.
 * @throws Fault where it is not
 */
async function isConsistent(
  kept: KeptCheckpoint,
  checkpoint: Checkpoint,
  { roots, fetchConsistencyPath: askConsistency }: HistoryOptions,
): Promise<boolean> {
  const { size, root, time, where } = kept;
  if (size > checkpoint.size) throw shrunkLog(kept, checkpoint);
  const known = size === checkpoint.size ? checkpoint.root : roots.get(size);
  if (known) {
    if (known.equals(root)) return true;
    throw new Fault(
      'history',
      `The log was rewritten: its first ${count(size, 'entry', 'entries')} are not those of ${time} (${where})`,
      {
        evidence: { size, root_now: known.toString('hex'), root_kept: root.toString('hex') },
      },
    );
  }
  if (!askConsistency) return false;
  if (verifyConsistency(kept, checkpoint, await askConsistency(size, checkpoint.size))) return true;
  throw inconsistentLog(kept, checkpoint, `that of ${time} (${where})`);
}

/** That a log has fewer entries than it had. */
export function shrunkLog(before: TreeHead, now: TreeHead): Fault {
  return new Fault('history', `The log got shorter: ${count(before.size, 'entry', 'entries')} once, now ${now.size}`, {
    evidence: { size_before: before.size, size_now: now.size },
  });
}

/** That a log is not the continuation of what it was. */
export function inconsistentLog(before: TreeHead, now: TreeHead, which: string): Fault {
  const how = `The log of ${count(now.size, 'entry', 'entries')} is not shown to continue ${which}, of ${before.size}`;
  return new Fault('history', how, {
    evidence: {
      size_before: before.size,
      root_before: before.root.toString('hex'),
      size_now: now.size,
      root_now: now.root.toString('hex'),
    },
  });
}
