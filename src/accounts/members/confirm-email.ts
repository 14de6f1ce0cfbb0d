import { and, eq } from 'drizzle-orm';
import { members } from '../../db/schema';
import { userActivity } from '../../http/activity';
import type { MemberRef, UserContext } from '../../http/context';
import { proveEmail } from '../../identity/prove-email';
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
