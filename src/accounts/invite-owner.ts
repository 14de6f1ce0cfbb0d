import { and, eq, lte, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { accounts, members } from '../db/schema';
import { accountNumberSql, operatorActivity } from '../http/activity';
import type { OperatorContext, Shard } from '../http/context';
import { body, noQuery } from '../http/input';
import { answer, created, operation } from '../http/operation';
import { operatorAccess } from '../http/operator-access';
import type { RecordWriter } from '../ledger/ledger';
import { lazy } from '../lib/lazy';
import { accountInPath, type LocatedAccount, requireLocatedAccount } from './account';
import { InvitedMember, makeInvitation } from './members/invitation';
import { makeInvitedMember } from './members/invite';
import { isMemberWithId, type MemberRow, memberFields, memberRow, presentMember, refuseMember } from './members/member';

const OwnerInvitation = lazy(() =>
  z
    .strictObject({ email: memberFields().email, name: memberFields().name.optional() })
    .meta({ id: 'OwnerInvitation', examples: [{ email: 'ada@example.com', name: 'Ada Lovelace' }] }),
);

/**
 * Invites an owner to an account: the first one of an older account, or a new one after all owners are lost. An owner with
 * this address whose invitation has expired gets a new one.
 * @throws Problem `conflict` if another member has the address, or the account has the maximum number of members
 */
export async function inviteOwner(
  context: OperatorContext,
  { account: { shard, row }, email, name }: { account: LocatedAccount; email: string; name?: string | undefined },
): Promise<InvitedMember> {
  const [[invited]] = await shard.reader.load([
    shard.reader
      .select(memberRow)
      .from(members)
      .where(
        and(
          eq(members.account, row.number),
          sql`${members.email} = ${email} collate nocase`,
          eq(members.status, 'invited'),
          eq(members.role, 'owner'),
          lte(members.invitationExpiresAt, context.runtime.now()),
        ),
      ),
  ]);
  const { member, store, number } = invited
    ? await renewOwner(context, { shard, account: row.number, owner: { ...invited, name: name ?? invited.name } })
    : {
        number: accountNumberSql(row.id),
        ...(await makeInvitedMember(context, {
          shard: shard.name,
          account: sql`${eq(accounts.id, row.id)}`,
          email,
          name: name ?? null,
          role: 'owner',
        })),
      };
  await shard.ledger
    .change({
      record: operatorActivity(context, 'member.invited', member.id, number),
      changes: (write) => [store(write)],
      answer: { value: member, subject: row.id },
    })
    .catch(refuseMember);
  return member;
}

/**
 * Makes a new invitation for an invited owner: the answer that shows it, the statement that stores it, and
 * the account's number, as SQL that is NULL if the owner has joined or was removed meanwhile.
 */
async function renewOwner(
  context: OperatorContext,
  { shard, account, owner }: { shard: Shard; account: number; owner: MemberRow },
) {
  const { invitation, columns } = await makeInvitation(context, shard.name);
  const updatedAt = context.runtime.now();
  const member: InvitedMember = { ...presentMember({ ...owner, updatedAt }), invitation };
  const found = and(isMemberWithId(account, owner.id), eq(members.status, 'invited'), eq(members.role, 'owner'));
  const changed = { ...columns, name: owner.name, updatedAt };
  const store = (write: RecordWriter) => write.update(members).set(changed).where(found);
  return { member, store, number: sql<number>`(select ${members.account} from ${members} where ${found})` };
}

export const inviteOwnerRoute = new Hono().post(
  '/v1/admin/users/:id/owner',
  operation({
    id: 'inviteOwner',
    tag: 'Operator',
    summary: 'Invite an owner to an account',
    description:
      'Gives an older account its first owner, or an account that lost its owners a new one. An owner with this address ' +
      'whose invitation has expired gets a new one.',
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
