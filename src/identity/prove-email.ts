import { and, isNull, type SQL, sql } from 'drizzle-orm';
import { members } from '../db/schema';
import type { RecordWriter } from '../ledger/ledger';

/**
 * Makes the statement that records that an e-mail address is a member's own, if the member has this
 * address and it is not proven yet.
 * @param found the condition that finds the member
 */
export function proveEmail(
  write: RecordWriter,
  found: SQL | undefined,
  email: string,
  now: number,
) {
  return write
    .update(members)
    .set({ emailProvenAt: now, updatedAt: now })
    .where(
      and(found, sql`${members.email} = ${email} collate nocase`, isNull(members.emailProvenAt)),
    );
}
