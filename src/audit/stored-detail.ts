import { type SQL, sql } from 'drizzle-orm';
import { LOG_SPAN } from '../ledger/append';

/** Where a permission has what the entries on it tell. */
const IN_PERMISSION = {
  resource: sql`resource`,
  decided_by: sql`decided_by`,
  policy_id: sql`policy_id`,
  expired: sql`iif(token_status is null, 'request', 'token')`,
} as const;

/**
 * A member of an entry's details, as SQL. Where SQLite cannot parse the details, the entry's permission tells it: the JSON
 * functions refuse more than 1,000 levels, and a statement that meets a refusal fails for all rows.
 * @param entry the name of `audit_entries` in the statement
 */
export function storedDetail(name: keyof typeof IN_PERMISSION, entry = 'audit_entries'): SQL {
  const column = (of: string) => sql.raw(`${entry}.${of}`);
  return sql`iif(json_valid(${column('details')}), ${column('details')} ->> ${sql.raw(`'${name}'`)}, (
    select ${IN_PERMISSION[name]} from permissions
    where account = ${column('pos')} / ${sql.raw(String(LOG_SPAN))} and id = ${column('permission')}
  ))`;
}
