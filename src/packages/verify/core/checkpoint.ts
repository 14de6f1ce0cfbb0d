import { decodeBase64, toHex } from './bytes.ts';
import { Fault, type Report } from './findings.ts';
import { isJsonObject, type Json } from './json.ts';
import type { TreeHead } from './merkle.ts';
import { findSigner, parseNote, type VerifierKey } from './note.ts';

/** A signed tree head (https://c2sp.org/tlog-checkpoint). */
export interface Checkpoint extends TreeHead {
  origin: string;
  /** ISO 8601 in UTC with milliseconds. */
  time: string;
  note: string;
}

/** The signed facts of a checkpoint, in the form of the API. */
export function checkpointFacts({ size, root, time }: Checkpoint) {
  return { tree_size: size, root_hash: toHex(root), timestamp: time };
}

/** Makes a report on the log of a checkpoint, without results. */
export function newReport(checkpoint: Checkpoint): Report {
  return {
    log: checkpoint.origin,
    checkpoint: checkpointFacts(checkpoint),
    key: null,
    proven: [],
    limits: [],
    unchecked: [],
    faults: [],
    refused: false,
  };
}

const SIZE = /^(0|[1-9]\d*)$/;
const TIME = /^time (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/;

/**
 * Reads a checkpoint from its note. Does not check the signatures.
 * @param where names the checkpoint in error messages
 * @throws Fault if the note is not a checkpoint
 */
export function readNote(note: string, where: string): Checkpoint {
  const refuse = (reason: string) => new Fault('checkpoint', `${where} ${reason}`);
  const [origin = '', size = '', root = '', extension = '', ...more] = readText(note, where)
    .slice(0, -1)
    .split('\n');
  const bytes = decodeBase64(root);
  const time = TIME.exec(extension)?.[1];
  if (
    origin === '' ||
    !SIZE.test(size) ||
    !Number.isSafeInteger(Number(size)) ||
    bytes?.length !== 32
  ) {
    throw refuse('is not a checkpoint: it needs one line each for origin, size and root hash');
  }
  if (!time || Number.isNaN(Date.parse(time)) || more.length > 0)
    throw refuse('must have exactly one more line, with its time');
  return { origin, size: Number(size), root: bytes, time, note };
}

/**
 * Reads a checkpoint in the form of the API, `{origin, tree_size, root_hash, timestamp, note}`.
 * Does not check the signatures.
 * @throws Fault if it is not a checkpoint, or differs from its note
 */
export function readCheckpoint(value: Json, where: string): Checkpoint {
  if (!isJsonObject(value) || typeof value.note !== 'string')
    throw new Fault('checkpoint', `${where} has no note`);
  const checkpoint = readNote(value.note, where);
  for (const [name, fact] of Object.entries({
    origin: checkpoint.origin,
    ...checkpointFacts(checkpoint),
  })) {
    if (value[name] === fact) continue;
    throw new Fault(
      'checkpoint',
      `${where} differs from its note: its ${name} is not the signed one`,
      {
        evidence: { found: String(value[name]), signed: fact },
      },
    );
  }
  return checkpoint;
}

/** The account in the name of a log, `<host>/<account>`. */
export function accountInOrigin(origin: string): string {
  return origin.slice(origin.lastIndexOf('/') + 1);
}

/**
 * The key that signed a checkpoint; null if none of the keys did.
 * @throws Fault if a signature is forged: it names one of the keys, but that key did not make it
 */
export async function signerOf(
  checkpoint: Checkpoint,
  keys: VerifierKey[],
  where: string,
): Promise<VerifierKey | null> {
  try {
    return await findSigner(parseNote(checkpoint.note), checkpoint.origin, keys);
  } catch (error) {
    throw asFault(error, where);
  }
}

/**
 * The key that signed a checkpoint.
 * @throws Fault if none of the keys did, or a signature is forged
 */
export async function requireSigner(
  checkpoint: Checkpoint,
  keys: VerifierKey[],
  where: string,
): Promise<VerifierKey> {
  const signer = await signerOf(checkpoint, keys, where);
  if (signer) return signer;
  throw new Fault(
    'checkpoint',
    `${where} is not signed by any of the keys given for ${checkpoint.origin}`,
    {
      evidence: { keys: keys.map(({ label }) => label).join(', ') || 'none' },
    },
  );
}

function readText(note: string, where: string): string {
  try {
    return parseNote(note).text;
  } catch (error) {
    throw asFault(error, where);
  }
}

function asFault(error: unknown, where: string): unknown {
  if (!(error instanceof SyntaxError)) return error;
  return new Fault('checkpoint', `${where} ${error.message}`);
}
