import { readFile, stat } from 'node:fs/promises';
import { type Checkpoint, requireSigner } from './checkpoint.ts';
import { checkEntry, isEntryProof } from './entry-proof.ts';
import { checkErasures } from './erasure.ts';
import { checkExport } from './export-check.ts';
import { reportExport } from './export-report.ts';
import { CannotCheck, Fault, type Report } from './findings.ts';
import { compareHistory } from './history.ts';
import { type JsonObject, parseJson } from './json.ts';
import { KeptCheckpoints } from './kept-checkpoints.ts';
import { publishedKeys, readKeys } from './keys.ts';
import type { VerifierKey } from './note.ts';

export interface OfflineOptions {
  file: string;
  proof: string;
  /** Where the log's keys are: see readKeys. Without it, those that the service publishes under the log's name. */
  key?: string | undefined;
  /** Where checkpoints were kept. */
  checkpoints?: string | undefined;
  /** Milliseconds that a row group of Parquet may take. */
  groupTimeoutMs?: number | undefined;
}

/** The proof of one entry is a line; that of an export, which is read piece by piece, may be any size. */
const MAX_ENTRY_PROOF_BYTES = 2 ** 20;

/** Verifies a file that was downloaded, or one entry, against its proof. */
export async function verifyFile({
  file,
  proof,
  key,
  checkpoints,
  groupTimeoutMs: patience,
}: OfflineOptions): Promise<Report> {
  const [{ size }] = (await Promise.all([proof, file].map(statFile))) as [{ size: number }];
  const entryProof = size <= MAX_ENTRY_PROOF_BYTES ? await readEntryProof(proof) : null;
  const kept = checkpoints === undefined ? [] : (await openKept(checkpoints)).all;
  const sizes = kept.map(({ size }) => size);
  const check = entryProof ? null : await checkExport(file, proof, { sizes, groupTimeoutMs: patience });
  const { report, checkpoint } = check
    ? { report: reportExport(check, false), checkpoint: check.head.checkpoint }
    : checkEntry(entryProof as JsonObject, await readEntry(file));
  const keys = await checkSignature(report, checkpoint, key);
  if (check && report.faults.length === 0) checkErasures(report, check.head.erased, checkpoint, keys);
  if (report.faults.length === 0) {
    await compareHistory(report, kept, checkpoint, { keys, roots: check?.roots ?? new Map(), isNewest: false });
  }
  return report;
}

async function openKept(path: string): Promise<KeptCheckpoints> {
  await statFile(path);
  return await KeptCheckpoints.open(path);
}

/** Finds who signed. Answers the keys that were tried: none where they could not be had. */
async function checkSignature(report: Report, checkpoint: Checkpoint, source?: string): Promise<VerifierKey[]> {
  const published = source ?? publishedKeys(checkpoint.origin);
  try {
    if (published === null) throw new CannotCheck(`${checkpoint.origin} names no host to ask for keys`);
    const keys = await readKeys(published);
    const { label } = requireSigner(checkpoint, keys, 'The checkpoint');
    report.key = published.startsWith(label) ? label : `${label} (${published})`;
    return keys;
  } catch (error) {
    if (error instanceof Fault) report.faults.push(error);
    else if (source === undefined && error instanceof CannotCheck) {
      report.unchecked.push(`Who signed the checkpoint: no --key was given, and ${error.message}`);
    } else throw error;
    return [];
  }
}

async function readEntryProof(path: string): Promise<JsonObject | null> {
  try {
    const value = parseJson(await readFile(path, 'utf8'));
    return isEntryProof(value) ? value : null;
  } catch {
    return null;
  }
}

async function readEntry(path: string) {
  try {
    return parseJson(await readFile(path, 'utf8'));
  } catch (error) {
    throw new Fault('changed', `The entry cannot be read: ${(error as Error).message}`);
  }
}

async function statFile(path: string): Promise<{ size: number }> {
  return await stat(path).catch((error) => {
    throw new CannotCheck(`${path} cannot be read: ${error.message}`);
  });
}
