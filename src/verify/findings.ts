/**
 * What can be wrong: an entry, the file or its proof as a whole, a checkpoint, the log compared with what it was, or that
 * the service itself refuses the log.
 */
export type FaultKind =
  | 'changed'
  | 'missing'
  | 'added'
  | 'swapped'
  | 'file'
  | 'proof'
  | 'checkpoint'
  | 'history'
  | 'refused';

export interface FaultDetails {
  /** The entry's place in the log, where one entry is at fault. */
  sequence?: number | undefined;
  /** The entry's id, where it is known. */
  id?: string | undefined;
  /** What was found and what should have been there. */
  evidence?: Record<string, string | number | null>;
}

/** Something that is wrong: the log, the file or the proof is not what it claims to be. */
export class Fault extends Error {
  readonly kind: FaultKind;
  readonly sequence: number | undefined;
  readonly id: string | undefined;
  readonly evidence: Record<string, string | number | null>;

  constructor(kind: FaultKind, message: string, { sequence, id, evidence = {} }: FaultDetails = {}) {
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
 * @param how what is wrong, as a sentence that the entry begins
 */
export function entryFault(kind: FaultKind, how: string, details: FaultDetails & { sequence: number }): Fault {
  const { sequence, id } = details;
  return new Fault(kind, `Entry ${sequence}${id ? ` (${id})` : ''} ${how}`, details);
}

/** Why nothing can be said: a wrong call, a file that is not there, a service that does not answer. */
export class CannotCheck extends Error {}

/** The service refuses the log: it answers `log_refused`, and proves nothing. */
export class LogRefused extends Error {}

/** What a verification found. */
export interface Report {
  /** The log by its own name. */
  log: string;
  checkpoint: { tree_size: number; root_hash: string; timestamp: string };
  /** The key that signed the checkpoint; null where that could not be checked. */
  key: string | null;
  /** What was proven, in sentences; void where there are faults. */
  proven: string[];
  /** What this cannot show. */
  limits: string[];
  /** What should have been checked and could not be. */
  unchecked: string[];
  /** What is wrong, the first entry that is wrong before everything else. */
  faults: Fault[];
  /** Whether the service itself refuses the log. */
  refused: boolean;
}

/** Whole numbers as people read them. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}
