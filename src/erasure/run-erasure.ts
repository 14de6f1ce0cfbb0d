import { type Database, GuardFailed } from '../db/database';
import type { Batch, Statement } from '../db/statements';
import { checkGuard, type Guard } from '../ledger/guard';
import { holdGuard } from '../ledger/hold';

/**
 * Runs the statements of an erasure as one transaction.
 * @param guard checked in the same transaction; by default, no account of the shard is on hold
 * @returns the results of the statements
 * @throws the guard's problem; nothing was erased
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
