import { eq, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { members, receivers } from '../../db/schema';
import { Problem } from '../../errors';
import { userAccess } from '../../http/access';
import { userActivity } from '../../http/activity';
import type { UserContext } from '../../http/context';
import { choice } from '../../http/fields';
import { atLeastOneField, body, noQuery } from '../../http/input';
import { answer, ok, operation } from '../../http/operation';
import { endCredentials } from '../../identity/end-credentials';
import type { FurtherChange } from '../../ledger/ledger';
import { checkSeries } from '../../ledger/series-checks';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { endDevices } from '../../outbox/end-devices';
import { endInvitations } from './end-invitations';
import {
  isActiveOwner,
  isMemberAsRead,
  Member,
  type MemberRow,
  memberFields,
  memberWasAsRead,
  otherOwnerGuard,
  preloadMember,
  presentMember,
  requireMember,
} from './member';
import { requireGrantable, requireRankOver } from './rank';

export const MemberUpdate = lazy(() =>
  atLeastOneField(
    z.strictObject({
      name: memberFields().name.nullable().optional().meta({ description: 'null removes it.' }),
      role: memberFields().role.optional(),
      status: choice(['active', 'suspended']).optional().meta({
        description:
          'A suspended member has no access. Suspending ends the tokens and sessions of the member for good.',
      }),
    }),
  ).meta({ id: 'MemberUpdate', examples: [{ role: 'auditor' }] }),
);

/**
 * Changes the given fields of a member. Suspending a member deletes the member's tokens, sessions
 * and devices in the same transaction, and ends the open invitations that the member made. A new
 * role ends those that it could not make.
 * @param further what else the same transaction changes
 * @throws Problem `insufficient_role` if the member is an owner and the caller is not, or for a
 *   role that the caller cannot give; `last_owner` if the account would be left without an active
 *   owner; `conflict` for a removed member, for the status of an invited one, and for a member that
 *   was changed at the same time
 */
export async function updateMember(
  context: UserContext,
  {
    member,
    further,
    ...fields
  }: { member: MemberRow; further?: FurtherChange | null } & LazyOutput<typeof MemberUpdate>,
): Promise<Member> {
  const { principal, ledger, runtime } = context;
  const account = principal.account.number;
  const { role = member.role, status = member.status } = fields;
  requireRankOver(principal, member.role);
  if (fields.role !== undefined) requireGrantable(principal, role);
  if (member.status === 'removed')
    throw new Problem('conflict', 'The member is removed. Invite the person again.');
  if (member.status === 'invited' && fields.status !== undefined) {
    throw new Problem(
      'conflict',
      'The member has not accepted the invitation yet. Only the member can do that.',
    );
  }
  const ceasesToBeOwner = isActiveOwner(member) && !isActiveOwner({ role, status });
  const staysInRole = status === 'active' && member.status === 'active' && role === member.role;
  const now = runtime.now();
  const columns = {
    name: fields.name,
    role,
    status,
    ...(!staysInRole && { activeSince: status === 'active' ? nextActiveSince(now) : null }),
    updatedAt: now,
  };
  const found = isMemberAsRead(account, member);
  const [[row]] = await ledger.change({
    record: userActivity(context, 'member.updated', member.id, { changes: Object.keys(fields) }),
    furtherRecords: further?.records ?? [],
    guards: [
      memberWasAsRead(found),
      ...(ceasesToBeOwner ? [otherOwnerGuard(account, member.id)] : []),
      ...(further?.guards ?? []),
    ],
    changes: (write) => [
      write.update(members).set(columns).where(found).returning(),
      endInvitations(write, account, {
        by: member.id,
        role: status === 'suspended' ? null : role,
        now,
      }),
      ...(status === 'suspended'
        ? [
            ...endCredentials(write, account, member.id),
            ...endDevices(write, account, eq(receivers.member, member.id)),
          ]
        : []),
      ...(staysInRole ? [] : [checkSeries(write, account, now)]),
      ...(further?.changes(write) ?? []),
    ],
    answer: null,
  });
  return presentMember(requireMember(row && [{ ...row, hasPasskey: member.hasPasskey }]));
}

/**
 * The new `activeSince`. It is always later than the old one, so a series that the member gave in
 * an earlier role never counts again.
 */
function nextActiveSince(now: number) {
  return sql<number>`max(${now}, coalesce(${members.activeSince}, ${members.updatedAt}) + 1)`;
}

export const updateMemberRoute = new Hono().put(
  '/v1/members/:id',
  operation({
    id: 'updateMember',
    tag: 'Members',
    summary: 'Change a member',
    description:
      'Changes the given fields. A new role holds from then on, for requests in flight too, and ends the open invitations ' +
      'of the member that it could not make. Suspending a member ends the tokens and sessions of the member, and all ' +
      'open invitations that the member made, for good.',
    success: ok(Member),
    pathId: 'member',
    problems: ['insufficient_role', 'last_owner', 'conflict'],
  }),
  userAccess('account:write', preloadMember),
  noQuery(),
  body(MemberUpdate),
  async (c) => {
    const input = { member: requireMember(c.var.loaded.member), ...c.req.valid('json') };
    return answer(c, await updateMember(c.var.context, input));
  },
);
