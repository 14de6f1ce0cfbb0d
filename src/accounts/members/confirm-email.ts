import { and, eq, isNull, type SQL, sql } from 'drizzle-orm';
import { members } from '../../db/schema';
import { userActivity } from '../../http/activity';
import type { MemberRef, UserContext } from '../../http/context';
import type { RecordWriter } from '../../ledger/ledger';
import { isMemberWithId, memberWasAsRead } from './member';

/**
 * Records that a member confirmed their e-mail address: mail to it reaches them.
 * @throws Problem `conflict` if the member does not have this address any more
 */
export async function confirmEmail(
  context: UserContext,
  { member, email }: { member: MemberRef; email: string },
): Promise<void> {
  const account = context.principal.account.number;
  const found = and(isMemberWithId(account, member.id), eq(members.email, email));
  await context.ledger.change({
    record: userActivity(context, 'member.updated', member.id, { changes: ['email_proven'] }),
    guards: [memberWasAsRead(found)],
    changes: (write) => [proveEmail(write, found, email, context.runtime.now())],
    answer: null,
  });
}

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
