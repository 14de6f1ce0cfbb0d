import { and, eq, sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import { DELIVERY_STATUSES, permissions } from '../db/schema';
import type { UserContext } from '../http/context';
import type { Id } from '../lib/typeid';

/**
 * Whether messages to people about the row of `permissions` were made, and each of them failed at
 * least once and has not arrived since, as SQL. Those to people who have voted do not count as
 * failed: they were not needed any more.
 */
export const notifiedNobodySql = sql`(
  select count(*) > 0 and sum(
    deliveries.status = ${codeOf(DELIVERY_STATUSES, 'succeeded')}
    or deliveries.status = ${codeOf(DELIVERY_STATUSES, 'pending')} and deliveries.attempts = 0
    or exists (
      select 1 from votes
      where votes.account = permissions.account and votes.permission = permissions.id and votes.member = deliveries.member
    )
  ) = 0
  from deliveries indexed by deliveries_by_permission
  where deliveries.permission = permissions.id and coalesce(deliveries.member, deliveries.slack_channel) is not null
)`
  .mapWith(Boolean)
  .as('notified_nobody');

/**
 * Whether every message to people about a permission has failed so far; false if there was none.
 */
export async function hasNotifiedNobody(
  { reader, principal }: UserContext,
  id: Id<'perm'>,
): Promise<boolean> {
  const [[row]] = await reader.load([
    reader
      .select({ notifiedNobody: notifiedNobodySql })
      .from(permissions)
      .where(and(eq(permissions.account, principal.account.number), eq(permissions.id, id))),
  ]);
  return row?.notifiedNobody === true;
}
