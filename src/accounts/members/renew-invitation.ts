import { Hono } from 'hono';
import { members } from '../../db/schema';
import { Problem } from '../../errors';
import { userAccess } from '../../http/access';
import { userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { body, NoFields, noQuery } from '../../http/input';
import { answer, operation } from '../../http/operation';
import { Invitation, makeInvitation } from './invitation';
import {
  isMemberAsRead,
  type MemberRow,
  memberWasAsRead,
  preloadMember,
  requireMember,
} from './member';
import { requireGrantable } from './rank';

/**
 * Makes a new invitation for a member who has not joined yet. The old invitation no longer works.
 * @throws Problem `insufficient_role` for a role that the caller cannot give; `conflict` for a
 *   member who is not invited
 */
export async function renewInvitation(
  context: UserContext,
  { member }: { member: MemberRow },
): Promise<Invitation> {
  const { principal, ledger, runtime } = context;
  const account = principal.account.number;
  requireGrantable(principal, member.role);
  if (member.status !== 'invited') {
    throw new Problem(
      'conflict',
      `The member is ${member.status}. Only an invited member can be invited again.`,
    );
  }
  const { invitation, columns } = await makeInvitation(context, {
    shard: principal.shard,
    by: principal.member?.id ?? null,
  });
  const found = isMemberAsRead(account, member);
  await ledger.change({
    record: userActivity(context, 'member.invited', member.id),
    guards: [memberWasAsRead(found)],
    changes: (write) => [
      write
        .update(members)
        .set({ ...columns, updatedAt: runtime.now() })
        .where(found),
    ],
    answer: { value: invitation, subject: principal.account.id },
  });
  return invitation;
}

export const renewInvitationRoute = new Hono().post(
  '/v1/members/:id/invitation',
  operation({
    id: 'renewInvitation',
    tag: 'Members',
    summary: 'Invite a member again',
    description: 'Makes a new invitation for a member who has not joined yet. The old one ends.',
    success: {
      status: 201,
      schema: Invitation,
      location: (path) => path.replace(/\/invitation$/, ''),
    },
    pathId: 'member',
    problems: ['insufficient_role', 'conflict'],
  }),
  userAccess('account:write', preloadMember),
  noQuery(),
  body(NoFields),
  async (c) =>
    answer(c, await renewInvitation(c.var.context, { member: requireMember(c.var.loaded.member) })),
);
