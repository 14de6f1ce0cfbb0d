import type { Database } from '../db/database';
import { GuardFailed } from '../db/database';
import type { Batch, Statement } from '../db/statements';
import { checkGuard, type Guard } from '../ledger/guard';
import { holdGuard } from '../ledger/hold';

/**
 * Runs the statements of an erasure as one transaction.
 * @param guard the accounts whose rows it erases; without it, none on the shard may be held
 * @returns the results of the statements
 * @throws AccountHeld if the guard does not hold; nothing was erased
 */
export async function runErasure(
  database: Database,
  statements: readonly Statement[],
  guard: Guard = holdGuard('all'),
): Promise<readonly D1Result[]> {
  const check = checkGuard(guard);
  try {
    const results: readonly unknown[] = await database.run([check, ...statements] as Batch);
    return results.slice(1) as readonly D1Result[];
  } catch (error) {
    if (error instanceof GuardFailed) throw guard.otherwise();
    throw error;
  }
}
