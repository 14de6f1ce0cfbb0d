import { CannotCheck, Fault, formatEntries, type Report } from './core/findings.ts';
import { InvalidRow, NoDetails } from './entry.ts';
import { readPasskeys } from './passkeys.ts';
import { detectFormat, readRows } from './rows.ts';
import { VoteChecker } from './vote-checker.ts';

export interface VerifyWithoutProofOptions {
  /** The path of an export with details in JSON, CSV or Parquet. */
  file: string;
  /** The path of the pinned passkeys (see `readPasskeys`). */
  passkeys: string;
}

/**
 * Verifies the votes of an export without its proof: only what passkeys signed is then protected
 * against changes.
 * @throws CannotCheck if a file cannot be read or has no details
 */
export async function verifyWithoutProof({
  file,
  passkeys,
}: VerifyWithoutProofOptions): Promise<Report> {
  const votes = new VoteChecker(await readPasskeys(passkeys));
  const report: Report = {
    log: null,
    checkpoint: null,
    key: null,
    proven: [],
    limits: [
      'Whether entries were changed, added or removed: without --proof, only what a passkey signed is checked.',
    ],
    unchecked: [],
    faults: [],
    refused: false,
  };
  const format = await detectFormat(file);
  let rows = 0;
  try {
    for await (const row of readRows(file, format)) {
      await votes.take(row);
      rows++;
      if (votes.fault) break;
    }
  } catch (error) {
    if (!(error instanceof InvalidRow)) throw error;
    if (error instanceof NoDetails)
      throw new CannotCheck(`${file} cannot be verified: ${error.message}`);
    const at = `After ${formatEntries(rows)}, the file has one that is malformed`;
    report.faults.push(
      new Fault('file', `${at}${error.id ? ` (${error.id})` : ''}: ${error.message}`, {
        id: error.id,
      }),
    );
  }
  votes.addTo(report);
  if (!votes.hasProven) {
    report.unchecked.push(
      'Anything: the file has no vote that is signed by a member whose passkeys you pinned.',
    );
  }
  return report;
}
