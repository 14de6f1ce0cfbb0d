import type { Findings } from '../findings.ts';
import type { Memory } from '../memory.ts';
import type { StoredAccount } from '../stored.ts';

const FINAL = ['succeeded', 'failed'];

/**
 * Checks that every use whose outcome was promised has one outcome, that it is one that was
 * reported, and that a final one which the service took stays.
 */
export function checkOutcomes(findings: Findings, memory: Memory, account: StoredAccount): void {
  const stored = new Map(account.permissions.map((permission) => [permission.id, permission]));
  for (const { id, outcome, tokenUses, requestEntry } of account.permissions) {
    const isUsed = (tokenUses ?? 0) > 0;
    const fits = outcome === null || (outcome === 'promised') === !isUsed;
    findings.check(fits, 'outcomes', () => `${id}: ${outcome} after ${tokenUses} uses`);
    const hasEntry = (outcome === null) === (requestEntry === null);
    findings.check(hasEntry, 'outcomes', () => `${id}: ${outcome} of entry ${requestEntry}`);
  }
  for (const { id, reportsOutcome, reports } of memory.permissions) {
    const permission = stored.get(id);
    if (!permission) continue;
    const { outcome } = permission;
    const told = () => `${id}: ${outcome}, reported ${JSON.stringify(reports)}`;
    findings.check((outcome !== null) === reportsOutcome, 'outcomes', told);
    const sent = reports.filter(({ certainty }) => certainty !== 'refused');
    const taken = reports.filter(({ certainty }) => certainty === 'done');
    const finals = new Set(
      taken.map(({ status }) => status).filter((each) => FINAL.includes(each)),
    );
    findings.check(finals.size <= 1, 'outcomes', told);
    const [final] = finals;
    if (final) findings.check(outcome === final, 'outcomes', told);
    if (outcome !== null && FINAL.includes(outcome))
      findings.check(
        sent.some(({ status }) => status === outcome),
        'outcomes',
        told,
      );
  }
}
