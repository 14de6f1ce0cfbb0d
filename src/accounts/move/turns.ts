import { and, eq } from 'drizzle-orm';
import { ConstraintError, type Database, GuardFailed } from '../../db/database';
import { moves } from '../../db/schema';
import type { Statement } from '../../db/statements';
import { checkGuard, hasRow } from '../../ledger/guard';

/**
 * An account's move to another shard, as a row on one of the two shards: the departure on the old
 * one, the arrival on the new one.
 */
export type Move = typeof moves.$inferSelect;

const TURN_GUARD = 'turn_is_next';

/**
 * Writes the next changes of a move on one shard, in one transaction. Each transaction takes the
 * next numbered turn of the move. A turn can be taken only once, so two workers never do the same
 * work.
 * @throws GuardFailed if another worker took this turn, or the move ended; nothing was written
 */
export async function takeTurn(
  database: Database,
  move: Move,
  changes: readonly Statement[],
): Promise<void> {
  const { account, createdAt, turns } = move;
  // A move of the account that was ordered later has the same turns.
  const isThisMove = and(eq(moves.account, account), eq(moves.createdAt, createdAt));
  const isNext = hasRow(moves, and(isThisMove, eq(moves.turns, turns)));
  await database.run([
    checkGuard({ name: TURN_GUARD, holds: isNext }),
    updateMove(database, move, { turns: turns + 1 }),
    ...changes,
  ]);
}

/** Makes the statement that changes the row of a move. */
export function updateMove(
  { build }: Database,
  { account }: Move,
  values: Partial<Move>,
): Statement {
  return build.update(moves).set(values).where(eq(moves.account, account));
}

/**
 * Runs work on a move until another worker takes one of its turns, or reserves the account's number
 * on the other shard.
 * @returns what the work returns; false if another worker stopped it
 */
export async function stopAtLostTurn(work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work();
  } catch (error) {
    const isTaken = error instanceof GuardFailed && error.guard === TURN_GUARD;
    const isReserved = error instanceof ConstraintError && error.subject === 'moves.id';
    if (isTaken || isReserved) return false;
    throw error;
  }
}
