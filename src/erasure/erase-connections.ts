import { and, asc, eq, sql } from 'drizzle-orm';
import { numberList } from '../db/columns';
import type { Database } from '../db/database';
import { connectionReads, erasures } from '../db/schema';
import { isNotMoving, movingGuard } from '../ledger/hold';
import { deleteRows, hasNoRow } from './delete-rows';
import { DELETE_LIMIT } from './erase-agents';
import { runErasure } from './run-erasure';

/**
 * Erases a slice of the counted reads of the connection that was deleted first. Safe to stop at any
 * point and to repeat.
 * @returns whether there may be more to erase
 */
export async function eraseConnectionReads(database: Database): Promise<boolean> {
  const [[next]] = await database.load([
    database
      .select()
      .from(erasures)
      .where(and(eq(erasures.kind, 'connection'), isNotMoving(erasures.account)))
      .orderBy(asc(erasures.id))
      .limit(1),
  ]);
  if (!next) return false;
  const { id, account, subject } = next;
  const isOfConnection = sql`account = ${account} and connection = ${subject}`;
  const { build } = database;
  const statements = [
    build.run(deleteRows(connectionReads, { where: isOfConnection, limit: DELETE_LIMIT })),
    build
      .delete(erasures)
      .where(and(eq(erasures.id, id), hasNoRow(connectionReads, isOfConnection))),
  ];
  await runErasure(database, statements, movingGuard(numberList([account])));
  return true;
}
