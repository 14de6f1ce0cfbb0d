import { and, eq, sql } from 'drizzle-orm';
import { numberList } from '../db/columns';
import type { Database } from '../db/database';
import { deliveries, erasures } from '../db/schema';
import { isNotMoving, movingGuard } from '../ledger/hold';
import { deleteRows, hasNoRow } from './delete-rows';
import { DELETE_LIMIT } from './erase-agents';
import { runErasure } from './run-erasure';

/** Receivers that one slice looks at. */
const RECEIVERS = 50;

/**
 * Erases a slice of the deliveries of deleted receivers. Safe to stop at any point and to repeat.
 * @returns whether there may be more to erase
 */
export async function eraseReceiverDeliveries(database: Database): Promise<boolean> {
  const [next] = await database.load([
    database
      .select({ id: erasures.id, account: erasures.account })
      .from(erasures)
      .where(and(eq(erasures.kind, 'receiver'), isNotMoving(erasures.account)))
      .limit(RECEIVERS),
  ]);
  if (next.length === 0) return false;
  const ids = numberList(next.map(({ id }) => id));
  const gone = sql`(select ${erasures.number} from ${erasures} where ${erasures.id} in ${ids})`;
  const { build } = database;
  const statements = [
    build.run(
      deleteRows(deliveries, {
        where: sql`${deliveries.receiver} in ${gone}`,
        limit: DELETE_LIMIT,
      }),
    ),
    build
      .delete(erasures)
      .where(
        and(
          eq(erasures.kind, 'receiver'),
          sql`${erasures.number} in ${gone}`,
          hasNoRow(deliveries, eq(deliveries.receiver, erasures.number)),
        ),
      ),
  ];
  const accounts = numberList(new Set(next.map(({ account }) => account)));
  await runErasure(database, statements, movingGuard(accounts));
  return true;
}
