import { eq, sql } from 'drizzle-orm';
import { type Batch, ConstraintError, type Database, type Statement } from '../../db/database';
import { moves, moveTurns } from '../../db/schema';

/**
 * An account's move to another shard, as a row on one of the two shards: the departure on the old
 * one, the arrival on the new one.
 */
export type Move = typeof moves.$inferSelect;

/**
 * Writes the next changes of a move on one shard, in one transaction. Each transaction takes the
 * next numbered turn of the move. A turn can be taken only once, so two workers never do the same
 * work. Within the transaction the triggers let through the writes to the account that they
 * otherwise refuse during a move.
 * @throws ConstraintError if another worker took this turn; nothing was written
 */
export async function takeTurn(
  database: Database,
  move: Move,
  changes: Statement[],
): Promise<void> {
  const { build } = database;
  const { account, turns } = move;
  await database.run([
    build.run(sql`insert into ${moveTurns} (account, turn) values (${account}, (
      select turns from ${moves} where account = ${account} and turns = ${turns}))`),
    ...changes,
    updateMove(database, move, { turns: turns + 1 }),
    build.delete(moveTurns).where(eq(moveTurns.account, account)),
  ] as unknown as Batch);
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
    const isLost =
      error instanceof ConstraintError && ['move_turns.turn', 'moves.id'].includes(error.subject);
    if (isLost) return false;
    throw error;
  }
}
