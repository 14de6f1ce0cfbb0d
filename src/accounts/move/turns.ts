import { eq, sql } from 'drizzle-orm';
import { type Batch, ConstraintError, type Database, type Statement } from '../../db/database';
import { moves, moveTurns } from '../../db/schema';

/** An account's move to another shard, as one of the two shards stores it. */
export type Move = typeof moves.$inferSelect;

/**
 * Writes the changes of the next step of a move. Steps are numbered turns, and only one worker can take each turn.
 * @throws ConstraintError if another worker took that turn; nothing was written
 */
export async function takeTurn(database: Database, { account, turns }: Move, changes: Statement[]): Promise<void> {
  const { build } = database;
  await database.run([
    build.run(sql`insert into ${moveTurns} (account, turn) values (${account}, (
      select turns from ${moves} where account = ${account} and turns = ${turns}))`),
    ...changes,
    build
      .update(moves)
      .set({ turns: turns + 1 })
      .where(eq(moves.account, account)),
    build.delete(moveTurns).where(eq(moveTurns.account, account)),
  ] as unknown as Batch);
}

/**
 * Runs work on a move. The work stops if another worker took the same turn, or reserved the account's number on the
 * other shard.
 * @returns what the work returns; false if it was stopped
 */
export async function stopAtLostTurn(work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work();
  } catch (error) {
    const isLost = error instanceof ConstraintError && ['move_turns.turn', 'moves.id'].includes(error.subject);
    if (isLost) return false;
    throw error;
  }
}
