import { type SQL, sql } from 'drizzle-orm';
import { LOG_SPAN_SQL } from '../ledger/append';

/** The column or expression of `permissions` that stands in for each member. */
const IN_PERMISSION = {
  resource: sql`resource`,
  decided_by: sql`decided_by`,
  policy_id: sql`policy_id`,
  // Details so deep are older than series.
  decided_via: sql`null`,
  expired: sql`iif(token_status is null, 'request', 'token')`,
  // Details so deep are older than reviews.
  review_policy_id: sql`null`,
} as const;

/**
 * One member of an entry's details, as SQL. Reading details that are nested deeper than 1,000
 * levels would fail the statement in SQLite: for them a subquery takes the value from the present
 * state of the permission. It is NULL if the permission is gone.
 * @param entry the alias of `audit_entries` in the statement
 */
export function selectDetail(name: keyof typeof IN_PERMISSION, entry = 'audit_entries'): SQL {
  const column = (of: string) => sql.raw(`${entry}.${of}`);
  return sql`iif(json_valid(${column('details')}), ${column('details')} ->> ${sql.raw(`'${name}'`)}, (
    select ${IN_PERMISSION[name]} from permissions
    where account = ${column('pos')} / ${LOG_SPAN_SQL} and id = ${column('permission')}
  ))`;
}
