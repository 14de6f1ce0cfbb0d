import { readFile, stat } from 'node:fs/promises';
import { checkSignature } from './check-signature.ts';
import { checkWitnesses } from './check-witnesses.ts';
import { newReport } from './core/checkpoint.ts';
import { CannotCheck, Fault, type Report } from './core/findings.ts';
import { type Json, type JsonObject, parseJson } from './core/json.ts';
import { compareHistory } from './history.ts';
import { KeptCheckpoints } from './kept-checkpoints.ts';
import { readPasskeys } from './passkeys.ts';
import { isReceipt, readReceipt } from './receipt.ts';
import { addStory } from './receipt-story.ts';
import { VoteChecker } from './vote-checker.ts';

export interface VerifyReceiptOptions {
  /** The receipt, as {@link openReceipt} opens it. */
  value: JsonObject;
  /** The source of the log's keys (see `readKeys`). By default the service in the log's name. */
  key?: string | undefined;
  /** The path of the kept checkpoints. */
  checkpoints?: string | undefined;
  /** The path of the pinned passkeys (see `readPasskeys`). */
  passkeys?: string | undefined;
  /** The path of the trust policy with the witnesses. */
  witnesses?: string | undefined;
}

/** Maximum size of a receipt: 100 entries with votes, and the arguments and preview. */
const MAX_BYTES = 16 * 2 ** 20;

/**
 * Opens a file that is a receipt.
 * @returns null if it is something else
 * @throws Fault if the service would write the same receipt in other bytes
 * @throws CannotCheck if it cannot be read
 */
export async function openReceipt(path: string): Promise<JsonObject | null> {
  const { size } = await stat(path).catch((error) => {
    throw new CannotCheck(`${path} cannot be read: ${error.message}`);
  });
  if (size > MAX_BYTES) return null;
  const text = decode(await readFile(path));
  const value = text === null ? null : parse(text);
  if (text === null || value === null || !isReceipt(value)) return null;
  const written = [JSON.stringify(value), JSON.stringify(value, null, 2)];
  if (written.includes(text.replace(/\n$/, ''))) return value;
  throw new Fault(
    'file',
    'The receipt is written in another way than the service writes it: verify the file as it was downloaded',
  );
}

/** Decodes UTF-8; null for other bytes, which a lenient decoder would read as another text. */
function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function parse(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

/**
 * Verifies a receipt against the key of the log, the kept checkpoints and the pinned passkeys. With
 * a key it needs no network.
 * @returns what is proven and what is not, in sentences
 * @throws CannotCheck if a file or the given key cannot be read
 */
export async function verifyReceipt(options: VerifyReceiptOptions): Promise<Report> {
  const { value, key, checkpoints, passkeys, witnesses } = options;
  const kept =
    checkpoints === undefined ? [] : (await KeptCheckpoints.openExisting(checkpoints)).all;
  const votes = new VoteChecker(passkeys === undefined ? null : await readPasskeys(passkeys));
  const { receipt, checkpoint } = await readReceipt(value);
  for (const entry of [...receipt.series, ...receipt.own]) await votes.take(entry);
  const report = newReport(checkpoint);
  addStory(report, receipt);
  votes.addTo(report);
  const keys = await checkSignature(report, checkpoint, key);
  if (witnesses !== undefined) await checkWitnesses(report, checkpoint, witnesses);
  if (report.faults.length === 0) {
    const isNewest = false;
    await compareHistory(report, kept, checkpoint, { keys, roots: new Map(), isNewest });
  }
  return report;
}
