import { and, eq, sql } from 'drizzle-orm';
import { receivers } from '../../db/schema';
import type { UserContext } from '../../http/context';
import { withPrefix } from '../../lib/typeid';
import { isOf, type ReceiverNoun } from '../receiver';

/** How many deliveries of each webhook or channel are counted. */
const RECENT = 20;

/**
 * The newest deliveries of a webhook or channel, counted by status. Those that wait for their first
 * attempt are not counted.
 */
export interface RecentDeliveries {
  succeeded: number;
  failed: number;
  /** Those of which an attempt failed, and that are tried again. */
  retried: number;
}

/**
 * Counts the newest 20 deliveries of each of the account's webhooks, or of each of its channels, by
 * its id.
 */
export async function countRecentDeliveries(
  { reader, principal }: UserContext,
  noun: ReceiverNoun,
): Promise<ReadonlyMap<string, RecentDeliveries>> {
  // Deliveries that were pending when the webhook or channel was disabled are canceled. The columns
  // are named in text: Drizzle leaves out the table's name in a select from one table, and
  // `disable_count` alone would be that of the delivery.
  const counts = sql<string>`(
    select json_object(
      'succeeded', coalesce(sum(status = 1), 0),
      'failed', coalesce(sum(status = 2 or is_canceled), 0),
      'retried', coalesce(sum(status = 0 and attempts > 0 and not is_canceled), 0)
    )
    from (
      select status, attempts, status = 0 and disable_count < receivers.disable_count as is_canceled from deliveries
      where receiver = receivers.number order by id desc limit ${RECENT}
    )
  )`.as('counts');
  const [rows] = await reader.load([
    reader
      .select({ id: receivers.id, counts })
      .from(receivers)
      .where(and(eq(receivers.account, principal.account.number), isOf[noun])),
  ]);
  const prefix = noun === 'webhook' ? 'webhook' : 'chan';
  return new Map(
    rows.map(({ id, counts }) => [withPrefix(prefix, id), JSON.parse(counts) as RecentDeliveries]),
  );
}
