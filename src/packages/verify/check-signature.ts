import { type Checkpoint, requireSigner } from './core/checkpoint.ts';
import { CannotCheck, Fault, type Report } from './core/findings.ts';
import type { VerifierKey } from './core/note.ts';
import { publishedKeysUrl, readKeys } from './keys.ts';

/**
 * Checks the signature of the checkpoint, and adds the result to the report. Returns the keys of
 * the log; none if the signature is wrong or could not be checked.
 */
export async function checkSignature(
  report: Report,
  checkpoint: Checkpoint,
  source?: string,
): Promise<VerifierKey[]> {
  const published = source ?? publishedKeysUrl(checkpoint.origin);
  try {
    if (published === null) {
      throw new CannotCheck(
        `the name ${checkpoint.origin} has no host from which to fetch the keys`,
      );
    }
    const keys = await readKeys(published);
    const { label } = await requireSigner(checkpoint, keys, 'The checkpoint');
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
