import { eq, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { accounts } from '../db/schema';
import { accountNumberSql, operatorActivity } from '../http/activity';
import type { OperatorContext } from '../http/context';
import { body, noQuery } from '../http/input';
import { answer, created, operation } from '../http/operation';
import { operatorAccess } from '../http/operator-access';
import { lazy } from '../lib/lazy';
import { accountInPath, type LocatedAccount, requireLocatedAccount } from './account';
import { InvitedMember } from './members/invitation';
import { makeInvitedMember } from './members/invite';
import { memberFields, refuseMember } from './members/member';

const OwnerInvitation = lazy(() =>
  z
    .strictObject({ email: memberFields().email, name: memberFields().name.optional() })
    .meta({ id: 'OwnerInvitation', examples: [{ email: 'ada@example.com', name: 'Ada Lovelace' }] }),
);

/**
 * Invites an owner to an account: the first one of an older account, or a new one after all owners are lost.
 * @throws Problem `conflict` if a member has the address, or the account has the maximum number of members
 */
export async function inviteOwner(
  context: OperatorContext,
  { account: { shard, row }, email, name }: { account: LocatedAccount; email: string; name?: string | undefined },
): Promise<InvitedMember> {
  const account = sql`${eq(accounts.id, row.id)}`;
  const { member, store } = await makeInvitedMember(context, {
    shard: shard.name,
    account,
    email,
    name: name ?? null,
    role: 'owner',
  });
  await shard.ledger
    .change({
      record: operatorActivity(context, 'member.invited', member.id, accountNumberSql(row.id)),
      changes: (write) => [store(write)],
      answer: { value: member, subject: row.id },
    })
    .catch(refuseMember);
  return member;
}

export const inviteOwnerRoute = new Hono().post(
  '/v1/admin/users/:id/owner',
  operation({
    id: 'inviteOwner',
    tag: 'Operator',
    summary: 'Invite an owner to an account',
    description: 'Gives an older account its first owner, or an account that lost its owners a new one.',
    success: created(InvitedMember, (_path, { id }) => `/v1/members/${id}`),
    pathId: 'user',
    problems: ['conflict'],
  }),
  operatorAccess(accountInPath),
  noQuery(),
  body(OwnerInvitation),
  async (c) => {
    const input = { account: requireLocatedAccount(c.var.loaded), ...c.req.valid('json') };
    return answer(c, await inviteOwner(c.var.operator, input));
  },
);
