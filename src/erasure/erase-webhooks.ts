import { eq, sql } from 'drizzle-orm';
import { codeOf, numberList } from '../db/columns';
import type { Database } from '../db/database';
import { ERASURE_KINDS, erasures } from '../db/schema';
import { DELETE_LIMIT } from './erase-agents';

/** Webhooks that one slice looks at. */
const WEBHOOKS = 50;

/**
 * Erases a slice of the deliveries of deleted webhooks. Safe to stop at any point and to repeat.
 * @returns whether there may be more to erase
 */
export async function eraseWebhookDeliveries(database: Database): Promise<boolean> {
  const [next] = await database.load([
    database
      .select({ id: erasures.id })
      .from(erasures)
      .where(eq(erasures.kind, 'webhook'))
      .limit(WEBHOOKS),
  ]);
  if (next.length === 0) return false;
  const gone = sql`(select number from erasures where id in ${numberList(next.map(({ id }) => id))})`;
  const { build } = database;
  await database.run([
    build.run(sql`delete from deliveries where (webhook, id) in (
      select webhook, id from deliveries where webhook in ${gone} limit ${DELETE_LIMIT})`),
    build.run(sql`delete from erasures where kind = ${codeOf(ERASURE_KINDS, 'webhook')} and number in ${gone}
      and not exists (select 1 from deliveries where webhook = erasures.number)`),
  ]);
  return true;
}
