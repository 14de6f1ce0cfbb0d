import { eq, type SQL, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { accounts, type MemberRole, members } from '../../db/schema';
import type { Config, Runtime } from '../../env';
import { userAccess } from '../../http/access';
import { userActivity } from '../../http/activity';
import { newId, type UserContext } from '../../http/context';
import { body, noQuery } from '../../http/input';
import { answer, created, operation } from '../../http/operation';
import type { RecordWriter } from '../../ledger/ledger';
import { lazy } from '../../lib/lazy';
import type { Id } from '../../lib/typeid';
import { InvitedMember, makeInvitation } from './invitation';
import { memberFields, memberLimitGuard, presentMember, refuseEmailTaken } from './member';
import { requireGrantable } from './rank';

/** The body of the request. */
export const MemberInvitation = lazy(() =>
  z
    .strictObject({
      email: memberFields().email,
      name: memberFields().name.optional(),
      role: memberFields().role,
    })
    .meta({
      id: 'MemberInvitation',
      examples: [{ email: 'ada@example.com', name: 'Ada Lovelace', role: 'approver' }],
    }),
);

/** The input for a new member. */
interface NewMember {
  /** The name of the account's shard. */
  shard: string;
  /** The member who invites; null for the operator and for a token of the account. */
  by: Id<'member'> | null;
  /** The condition that finds the account. */
  account: SQL;
  email: string;
  name: string | null;
  role: MemberRole;
}

/** Prepares an invited member: the response, its guards, and the INSERT. */
export async function makeInvitedMember(
  context: { config: Config; runtime: Runtime },
  { shard, by, account, ...fields }: NewMember,
) {
  const { invitation, columns } = await makeInvitation(context, { shard, by });
  const now = context.runtime.now();
  const row = {
    id: newId(context.runtime, 'member'),
    ...fields,
    ...columns,
    status: 'invited' as const,
    identity: null,
    emailProvenAt: null,
    lastSeenAt: null,
    activeSince: null,
    eraseAt: null,
    createdAt: now,
    updatedAt: now,
  };
  const member: InvitedMember = { ...presentMember({ ...row, hasPasskey: false }), invitation };
  return {
    member,
    guards: [memberLimitGuard(account)],
    store: (write: RecordWriter) =>
      write.insert(members).values({
        ...row,
        account: sql<number>`(select ${accounts.number} from ${accounts} where ${account})`,
      }),
  };
}

/**
 * Invites a person to the account.
 * @throws Problem `insufficient_role` for a role that the caller cannot give; `conflict` if another
 *   member has the e-mail address, or the account has the maximum number of members
 */
export async function inviteMember(
  context: UserContext,
  { email, name, role }: { email: string; name?: string | undefined; role: MemberRole },
): Promise<InvitedMember> {
  const { principal, ledger } = context;
  requireGrantable(principal, role);
  const account = eq(accounts.number, principal.account.number);
  const { member, guards, store } = await makeInvitedMember(context, {
    shard: principal.shard,
    by: principal.member?.id ?? null,
    account,
    email,
    name: name ?? null,
    role,
  });
  await ledger
    .change({
      record: userActivity(context, 'member.invited', member.id),
      guards,
      changes: (write) => [store(write)],
      answer: { value: member, subject: principal.account.id },
    })
    .catch(refuseEmailTaken);
  return member;
}

export const inviteMemberRoute = new Hono().post(
  '/v1/members',
  operation({
    id: 'inviteMember',
    tag: 'Members',
    summary: 'Invite a member',
    description:
      'Creates a member and an invitation, which the member accepts within 7 days. Send its URL to the person: the service sends no mail.',
    success: created(InvitedMember),
    problems: ['insufficient_role', 'conflict'],
  }),
  userAccess('account:write'),
  noQuery(),
  body(MemberInvitation),
  async (c) => answer(c, await inviteMember(c.var.context, c.req.valid('json'))),
);
