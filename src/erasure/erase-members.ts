import { and, asc, eq, sql } from 'drizzle-orm';
import { aliased } from '../db/columns';
import type { Database } from '../db/database';
import { isPasskeyOf } from '../db/passkeys-by-member';
import { accounts, identities, members, notificationSettings, passkeys } from '../db/schema';
import type { Batch } from '../db/statements';
import { idBytes } from '../lib/typeid';
import { runErasure } from './run-erasure';

/** Members that one slice erases. */
const SLICE = 50;

/**
 * Erases a slice of the removed members whose time is over. Safe to stop at any point and to
 * repeat.
 * @param directory the database with the table `identities`, which may still name the account of a
 *   removed member
 * @returns whether there may be more to erase
 */
export async function eraseMembers(
  database: Database,
  directory: Database,
  now: number,
): Promise<boolean> {
  const [due] = await database.load([
    database
      .select({
        number: members.account,
        id: members.id,
        identity: members.identity,
        account: aliased(accounts.id, 'account_id'),
      })
      .from(members)
      .innerJoin(accounts, eq(accounts.number, members.account))
      .where(sql`${members.eraseAt} is not null and ${members.eraseAt} <= ${now}`)
      .orderBy(asc(members.eraseAt))
      .limit(SLICE),
  ]);
  if (due.length === 0) return false;
  // The directory first. Without the member's row its entry would make the person an owner of the
  // account again.
  const entries = due.flatMap(({ identity, account }) =>
    identity
      ? [
          directory.build
            .delete(identities)
            .where(and(eq(identities.key, identity), eq(identities.account, account))),
        ]
      : [],
  );
  if (entries.length > 0) await directory.run(entries as unknown as Batch);
  const deletions = due.flatMap(({ number, id }) => [
    database.build
      .delete(notificationSettings)
      .where(and(eq(notificationSettings.account, number), eq(notificationSettings.member, id))),
    database.build.delete(passkeys).where(isPasskeyOf(number, sql`${idBytes(id)}`)),
    database.build.delete(members).where(and(eq(members.account, number), eq(members.id, id))),
  ]);
  await runErasure(database, deletions);
  return due.length === SLICE;
}
