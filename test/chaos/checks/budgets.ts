import type { Findings } from '../findings.ts';
import { MOST_APPROVED, SUMMED, TENTHS } from '../load/budgets.ts';
import type { Memory } from '../memory.ts';
import type { StoredAccount } from '../stored.ts';

/**
 * Compares the count of each policy that has a budget with the approvals in the log, and both with
 * the greatest budget that a policy gets.
 */
export function checkBudgets(findings: Findings, memory: Memory, account: StoredAccount): void {
  const uses = new Map(account.permissions.map(({ id, tokenMaxUses }) => [id, tokenMaxUses]));
  const approvals = Map.groupBy(
    account.entries.filter(({ event }) => event === 'approve'),
    ({ details }) => details.policy_id,
  );
  for (const [id, policy] of account.policies) {
    const approved = approvals.get(id) ?? [];
    const isInTime = approved.every(({ createdAt }) => createdAt < policy.expiresAt);
    findings.check(isInTime, 'approvals by an expired policy', () => id);
    if (!policy.hasBudget) continue;
    const tenths = approved.reduce((sum, { permission, details }) => {
      const { [SUMMED]: value } = details.scope as { [SUMMED]: number };
      return sum + Math.round(value * TENTHS) * (uses.get(permission) ?? 0);
    }, 0);
    const spent = policy.millionths / (1_000_000 / TENTHS);
    const counted = [policy.requests, spent];
    const logged = [approved.length, tenths];
    const isComplete = !memory.traits.losesAgents;
    findings.check(
      counted.every((count, i) => {
        const entries = logged[i] ?? 0;
        return isComplete ? count === entries : count >= entries;
      }),
      'budgets and the log',
      () => `${id}: counted ${counted}, in the log ${logged}`,
    );
    findings.check(
      policy.requests <= MOST_APPROVED.requests && spent <= MOST_APPROVED.tenths,
      'budgets',
      () => `${id} approved ${counted}`,
    );
  }
}
