import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { verifyService } from '../../../src/verify/verify-service.ts';
import type { Service } from '../../support/local/restartable-service.ts';
import type { Findings } from '../findings.ts';
import type { Memory } from '../memory.ts';
import type { StoredAccount } from '../stored.ts';

/**
 * The log of an account as the verifier sees it, compared with every checkpoint that was shown meanwhile, or the bucket
 * kept.
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
  for (const [size, note] of seen) writeFileSync(join(folder, String(size).padStart(16, '0')), note);
  for (const { size, note } of checkpoints) writeFileSync(join(folder, size), note);
  const options = { address: service.origin, token, checkpoints: folder, onProgress: () => undefined };
  const report = await verifyService(options).catch((error: Error) => ({ faults: [error], unchecked: [] }));
  const wrong = [...report.faults.map(({ message }) => message), ...report.unchecked];
  findings.check(wrong.length === 0, 'verifier', () => `${traits.name}: ${wrong.join('; ')}`);
}

/** Everything is sealed. */
export function checkSealed(findings: Findings, { id, entries, treeSize, publishedSize }: StoredAccount): void {
  const last = entries.at(-1)?.sequence ?? 0;
  const isSealed = treeSize >= last && publishedSize <= treeSize;
  findings.check(isSealed, 'tree', () => `${id}: ${last} entries, ${treeSize} sealed, ${publishedSize} published`);
}
