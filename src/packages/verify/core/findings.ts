/**
 * The kinds of faults: of one entry (`changed`, `missing`, `added`, `swapped`), of a vote in an
 * entry, of an approval by a series, of the file, the proof or a checkpoint, of the log's history,
 * or a log that the service itself refuses.
 */
export type FaultKind =
  | 'changed'
  | 'missing'
  | 'added'
  | 'swapped'
  | 'vote'
  | 'series'
  | 'file'
  | 'proof'
  | 'checkpoint'
  | 'history'
  | 'refused';

export interface FaultDetails {
  /** The sequence of the wrong entry. */
  sequence?: number | undefined;
  /** The id of the wrong entry, if it is known. */
  id?: string | undefined;
  /** The found and the expected values. */
  evidence?: Record<string, string | number | null>;
}

/** A proven fault: the log, the file, the proof or a kept checkpoint is wrong. */
export class Fault extends Error {
  readonly kind: FaultKind;
  readonly sequence: number | undefined;
  readonly id: string | undefined;
  readonly evidence: Record<string, string | number | null>;

  constructor(
    kind: FaultKind,
    message: string,
    { sequence, id, evidence = {} }: FaultDetails = {},
  ) {
    super(message);
    this.kind = kind;
    this.sequence = sequence;
    this.id = id;
    this.evidence = evidence;
  }

  toJSON() {
    const { kind, sequence, id, message, evidence } = this;
    return { kind, sequence, id, message, evidence };
  }
}

/**
 * A fault of one entry.
 * @param how the rest of a sentence that begins with the entry
 */
export function entryFault(
  kind: FaultKind,
  how: string,
  details: FaultDetails & { sequence: number },
): Fault {
  const { sequence, id } = details;
  return new Fault(kind, `Entry ${sequence}${id ? ` (${id})` : ''} ${how}`, details);
}

/**
 * The check is not possible: the arguments are wrong, a file is missing, or the service does not
 * answer.
 */
export class CannotCheck extends Error {}

/** The service refuses the log: it answers `log_refused` instead of a proof. */
export class LogRefused extends Error {}

/** The result of a verification. */
export interface Report {
  /** The name of the log, and its checkpoint; null if no proof was given. */
  log: string | null;
  checkpoint: { tree_size: number; root_hash: string; timestamp: string } | null;
  /** The label of the key that signed the checkpoint; null if that could not be checked. */
  key: string | null;
  /** Sentences that say what was proven. They hold only if there are no faults. */
  proven: string[];
  /** The claims that this verification cannot prove. */
  limits: string[];
  /** The checks that should have been made but could not be. */
  unchecked: string[];
  /**
   * The faults that were found. A wrong entry comes first, then a wrong vote or series; of each,
   * only the first is looked for.
   */
  faults: Fault[];
  /** Whether the service itself refuses the log. */
  refused: boolean;
}

/** Formats a number of things, such as `1 checkpoint` or `1,000 checkpoints`. */
export function formatCount(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}

/** Formats a number of entries. */
export function formatEntries(number: number): string {
  return formatCount(number, 'entry', 'entries');
}
