import { sql } from 'drizzle-orm';
import { Problem } from '../../errors';
import type { AgentContext } from '../../http/context';
import { LOG_SPAN_SQL } from '../../ledger/append';
import type { Entry } from '../../ledger/entry';
import { type Id, idBytes } from '../../lib/typeid';

/** A permission whose use was taken for a call. */
export interface UsedPermission {
  account: number;
  id: Id<'perm'>;
  /** The entry of the use. Its random bytes tell it from any other. */
  use: Entry;
}

/**
 * Runs a write that takes a use, and finds out whether it was committed where the answer of the
 * database is lost: so that the act is neither lost nor done twice.
 * @returns what the write returns; undefined if its answer was lost, but the use was found
 * @throws the error of the write, if the use was not found
 */
export async function untilCertain<T>(
  context: AgentContext,
  used: UsedPermission,
  write: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await write();
  } catch (error) {
    const mayBeCommitted = error instanceof Problem && error.code === 'unavailable';
    if (mayBeCommitted && (await isUseStored(context, used))) return undefined;
    throw error;
  }
}

/** Whether the last entry about a permission, or the one before it, is this use. */
async function isUseStored(
  { reader }: AgentContext,
  { account, id, use }: UsedPermission,
): Promise<boolean> {
  const position = (sequence: string) => sql`${account} * ${LOG_SPAN_SQL} + ${sql.raw(sequence)}`;
  const [found] = await reader.load([
    reader
      .select({ count: sql<number>`count(*)`.as('count') })
      .from(sql`permissions as used`)
      .where(sql`used.account = ${account} and used.id = ${idBytes(id)} and ${use.random} in (
        select last.random from audit_entries as last where last.pos = ${position('used.last_entry')}
        union all
        select earlier.random
        from audit_entries as last
        join audit_entries as earlier on earlier.pos = ${position('last.previous')}
        where last.pos = ${position('used.last_entry')}
      )`),
  ]);
  return (found[0]?.count ?? 0) > 0;
}
