import { and, eq, isNull, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import { members, passkeys } from '../../db/schema';
import { userAccess } from '../../http/access';
import { userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { noQuery } from '../../http/input';
import { answer, noContent, operation } from '../../http/operation';
import {
  endCredentials,
  isMemberWithId,
  keptAfterRemoval,
  type MemberRow,
  memberInPath,
  refuseMember,
  requireMember,
  requireRankOver,
  unlessLastOwner,
} from './member';

/**
 * Removes a member for good, and deletes the member's tokens and sessions in the same transaction. Does nothing for a member who is
 * removed already.
 * @throws Problem `insufficient_role` for an owner if the caller is not one; `last_owner` if the account would be left
 *   without an active owner; `conflict` for a member that was changed at the same time
 */
export async function removeMember(context: UserContext, { member }: { member: MemberRow }): Promise<void> {
  const { principal, ledger, runtime } = context;
  const account = principal.account.number;
  requireRankOver(principal, member.role);
  if (member.status === 'removed') return;
  const now = runtime.now();
  const removed = sql`${sql.param('removed' as const, members.status)}`;
  const isActiveOwner = member.role === 'owner' && member.status === 'active';
  const columns = {
    status: isActiveOwner ? unlessLastOwner(account, member.id, removed) : removed,
    invitationHash: null,
    invitationExpiresAt: null,
    activeSince: null,
    eraseAt: now + keptAfterRemoval(principal.account),
    updatedAt: now,
  };
  const found = and(
    isMemberWithId(account, member.id),
    eq(members.role, member.role),
    eq(members.status, member.status),
  );
  const number = sql<number>`(select ${members.account} from ${members} where ${found})`;
  await ledger
    .change({
      record: userActivity(context, 'member.removed', member.id, { account: number }),
      changes: (write) => [
        write.update(members).set(columns).where(found),
        ...endCredentials(write, account, member.id),
        write
          .update(passkeys)
          .set({ removedAt: now })
          .where(and(eq(passkeys.account, account), eq(passkeys.member, member.id), isNull(passkeys.removedAt))),
      ],
      answer: null,
    })
    .catch(refuseMember);
}

export const removeMemberRoute = new Hono().delete(
  '/v1/members/:id',
  operation({
    id: 'removeMember',
    tag: 'Members',
    summary: 'Remove a member',
    description:
      'Ends the access of the member for good. Decisions that the member took stand. The member can be read as long as ' +
      'the audit log may name it.',
    success: noContent(),
    pathId: 'member',
    problems: ['insufficient_role', 'last_owner', 'conflict'],
  }),
  userAccess('account:write', memberInPath),
  noQuery(),
  async (c) => {
    await removeMember(c.var.context, { member: requireMember(c.var.loaded.member) });
    return answer(c, null);
  },
);
