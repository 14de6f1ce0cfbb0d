import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { verifyService } from '../../../src/packages/verify/verify-service.ts';
import type { Service } from '../../support/local/restartable-service.ts';
import type { Findings } from '../findings.ts';
import type { Memory } from '../memory.ts';
import type { StoredAccount } from '../stored.ts';

/**
 * Runs the verifier on the log of an account, with every checkpoint that was shown during the load
 * or is stored in the bucket.
 */
export async function checkTree(
  findings: Findings,
  { id, token, traits, checkpoints: seen }: Memory,
  service: Service,
  checkpoints: { size: string; note: Buffer }[],
  state: string,
): Promise<void> {
  const folder = join(state, 'checkpoints', id);
  mkdirSync(folder, { recursive: true });
  for (const [size, note] of seen)
    writeFileSync(join(folder, String(size).padStart(16, '0')), note);
  for (const { size, note } of checkpoints) writeFileSync(join(folder, size), note);
  const options = { url: service.origin, token, checkpoints: folder, onProgress: () => undefined };
  const report = await verifyService(options).catch((error: Error) => ({
    faults: [error],
    unchecked: [],
  }));
  const wrong = [...report.faults.map(({ message }) => message), ...report.unchecked];
  findings.check(wrong.length === 0, 'verifier', () => `${traits.name}: ${wrong.join('; ')}`);
}

/** Checks that every entry is sealed. */
export function checkSealed(
  findings: Findings,
  { id, entries, treeSize, publishedSize }: StoredAccount,
): void {
  const last = entries.at(-1)?.sequence ?? 0;
  const isSealed = treeSize >= last && publishedSize <= treeSize;
  findings.check(
    isSealed,
    'tree',
    () => `${id}: ${last} entries, ${treeSize} sealed, ${publishedSize} published`,
  );
}
