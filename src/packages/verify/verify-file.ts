import { readFile, stat } from 'node:fs/promises';
import { checkSignature } from './check-signature.ts';
import { CannotCheck, Fault, type Report } from './core/findings.ts';
import { type JsonObject, parseJson } from './core/json.ts';
import { checkEntryProof, isEntryProof } from './entry-proof.ts';
import { checkErasureRecords } from './erasure.ts';
import { checkExport } from './export-check.ts';
import { reportExport } from './export-report.ts';
import { compareHistory } from './history.ts';
import { KeptCheckpoints } from './kept-checkpoints.ts';
import { readPasskeys } from './passkeys.ts';
import { VoteChecker } from './vote-checker.ts';

export interface VerifyFileOptions {
  /** The paths of the file and its proof. */
  file: string;
  proof: string;
  /** The path of the pinned passkeys (see `readPasskeys`). */
  passkeys?: string | undefined;
  /** The source of the log's keys (see `readKeys`). By default the service in the log's name. */
  key?: string | undefined;
  /** The path of the kept checkpoints. */
  checkpoints?: string | undefined;
  /** Time limit for decoding a Parquet row group, in milliseconds. */
  rowGroupTimeoutMs?: number | undefined;
}

/**
 * Maximum size of the proof of one entry. Larger files are proofs of exports, which are read in
 * parts.
 */
const MAX_ENTRY_PROOF_BYTES = 2 ** 20;

/**
 * Verifies an export file, or a file with one entry, against its proof, the key of the log and the
 * kept checkpoints.
 * @throws Fault if the proof, the entry or a kept checkpoint is malformed; other faults are in the
 *   report
 * @throws CannotCheck if a file or the given key cannot be read
 */
export async function verifyFile(options: VerifyFileOptions): Promise<Report> {
  const { file, proof, key, checkpoints, passkeys, rowGroupTimeoutMs } = options;
  const [{ size }] = (await Promise.all([proof, file].map(statFile))) as [{ size: number }];
  const entryProof = size <= MAX_ENTRY_PROOF_BYTES ? await readEntryProof(proof) : null;
  const kept =
    checkpoints === undefined ? [] : (await KeptCheckpoints.openExisting(checkpoints)).all;
  const sizes = kept.map(({ size }) => size);
  const votes = new VoteChecker(passkeys === undefined ? null : await readPasskeys(passkeys));
  const check = entryProof
    ? null
    : await checkExport(file, proof, { sizes, votes, rowGroupTimeoutMs });
  const { report, checkpoint } = check
    ? { report: reportExport(check, { isWholeLog: false }), checkpoint: check.head.checkpoint }
    : await checkEntryProof(entryProof as JsonObject, await readEntry(file), votes);
  votes.addTo(report);
  const keys = await checkSignature(report, checkpoint, key);
  if (check && report.faults.length === 0)
    await checkErasureRecords(report, check.head.erased, checkpoint, keys);
  if (report.faults.length === 0) {
    await compareHistory(report, kept, checkpoint, {
      keys,
      roots: check?.roots ?? new Map(),
      isNewest: false,
    });
  }
  return report;
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
