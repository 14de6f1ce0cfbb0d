import { type SQL, sql } from 'drizzle-orm';
import { passkeys } from './schema';

/**
 * The passkeys in the index by which those of one member are found. Without it SQLite takes the
 * primary key, and reads every passkey of the account.
 */
export const PASSKEYS_BY_MEMBER = sql.raw('passkeys indexed by passkeys_by_member');

/** The condition that finds all passkeys of a member, also removed ones. */
export function isPasskeyOf(account: number | SQL<number>, member: SQL): SQL {
  return sql`(${passkeys.account}, ${passkeys.id}) in (
    select own.account, own.id from ${passkeys} as own indexed by passkeys_by_member
    where own.account = ${account} and own.member = ${member}
  )`;
}
