import { and, eq, getTableColumns, lte, sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { aliased } from '../db/columns';
import type { Reader } from '../db/database';
import { accounts, members } from '../db/schema';
import { operatorActivity, targetExists } from '../http/activity';
import type { OperatorContext, RequestContext, Shard } from '../http/context';
import { body, noQuery } from '../http/input';
import { answer, created, operation } from '../http/operation';
import { operatorAccess } from '../http/operator-access';
import type { RecordWriter } from '../ledger/ledger';
import { isSameEmailAddress } from '../lib/email-address';
import { lazy } from '../lib/lazy';
import { parseId } from '../lib/typeid';
import { type LocatedAccount, requireLocatedAccount } from './account';
import { InvitedMember, makeInvitation } from './members/invitation';
import { makeInvitedMember } from './members/invite';
import {
  isMemberAsRead,
  type MemberRow,
  memberFields,
  memberWasAsRead,
  presentMember,
  refuseEmailTaken,
} from './members/member';

const OwnerInvitation = lazy(() =>
  z.strictObject({ email: memberFields().email, name: memberFields().name.optional() }).meta({
    id: 'OwnerInvitation',
    examples: [{ email: 'ada@example.com', name: 'Ada Lovelace' }],
  }),
);

/** An invited owner whose invitation has expired. */
type ExpiredOwner = Pick<MemberRow, 'id' | 'email' | 'name' | 'createdAt'>;

/** The columns that {@link ExpiredOwner} lacks. They are the same for every invited owner. */
const INVITED_OWNER = {
  role: 'owner',
  status: 'invited',
  identity: null,
  emailProvenAt: null,
  lastSeenAt: null,
  activeSince: null,
  eraseAt: null,
  hasPasskey: false,
} as const;

/**
 * Invites a person as owner of an account: its first owner, one more, or a new one after all owners
 * are lost. An invited owner with this e-mail address whose invitation has expired gets a new one.
 * @throws Problem `conflict` if another member has the e-mail address, or the account has the
 *   maximum number of members
 */
export async function inviteOwner(
  context: OperatorContext,
  {
    account: { shard, row },
    expiredOwners,
    email,
    name,
  }: {
    account: LocatedAccount;
    expiredOwners: ExpiredOwner[];
    email: string;
    name?: string | undefined;
  },
): Promise<InvitedMember> {
  const invited = expiredOwners.find(
    (owner) => owner.email !== null && isSameEmailAddress(owner.email, email),
  );
  const { member, store, guards } = invited
    ? await renewOwner(context, {
        shard,
        account: row.number,
        owner: { ...invited, name: name ?? invited.name },
      })
    : await makeInvitedMember(context, {
        shard: shard.name,
        by: null,
        account: eq(accounts.id, row.id),
        email,
        name: name ?? null,
        role: 'owner',
      });
  await shard.ledger
    .change({
      record: operatorActivity(context, 'member.invited', member.id, row.number),
      guards: [targetExists('account', accounts, eq(accounts.number, row.number)), ...guards],
      changes: (write) => [store(write)],
      answer: { value: member, subject: row.id },
    })
    .catch(refuseEmailTaken);
  return member;
}

/**
 * Makes a new invitation for an invited owner: the answer that shows it, the statement that stores
 * it, and the guard that the owner is still invited.
 */
async function renewOwner(
  context: OperatorContext,
  { shard, account, owner }: { shard: Shard; account: number; owner: ExpiredOwner },
) {
  const { invitation, columns } = await makeInvitation(context, { shard: shard.name, by: null });
  const updatedAt = context.runtime.now();
  const member: InvitedMember = {
    ...presentMember({ ...INVITED_OWNER, ...owner, ...columns, updatedAt }),
    invitation,
  };
  const found = isMemberAsRead(account, { ...INVITED_OWNER, ...owner });
  const changed = { ...columns, name: owner.name, updatedAt };
  const store = (write: RecordWriter) => write.update(members).set(changed).where(found);
  return { member, store, guards: [memberWasAsRead(found)] };
}

/**
 * Preloads the account in the path, with its invited owners whose invitations have expired:
 * one row for each.
 */
function preloadAccountAndExpiredOwners(c: RequestContext, reader: Reader) {
  const id = parseId('user', c.req.param('id') ?? '');
  const isExpired = and(
    eq(members.account, accounts.number),
    eq(members.role, 'owner'),
    eq(members.status, 'invited'),
    lte(members.invitationExpiresAt, c.var.runtime.now()),
  );
  return (
    id && {
      query: reader
        .select({
          ...getTableColumns(accounts),
          ownerId: aliased(members.id, 'owner_id'),
          ownerEmail: aliased(members.email, 'owner_email'),
          ownerName: aliased(members.name, 'owner_name'),
          ownerCreatedAt: aliased(members.createdAt, 'owner_created_at'),
        })
        .from(accounts)
        // By itself SQLite takes the primary key, and reads everybody who ever was a member.
        .leftJoin(sql`${members} indexed by members_by_status`, isExpired)
        .where(eq(accounts.id, id)),
    }
  );
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
  operatorAccess(preloadAccountAndExpiredOwners),
  noQuery(),
  body(OwnerInvitation),
  async (c) => {
    const rows = c.var.loaded.flatMap(({ loaded }) => loaded ?? []);
    const expiredOwners = rows.flatMap(
      ({ ownerId: id, ownerEmail: email, ownerName: name, ownerCreatedAt: createdAt }) =>
        id === null ? [] : [{ id, email, name, createdAt }],
    );
    const input = {
      account: requireLocatedAccount(c.var.loaded),
      expiredOwners,
      ...c.req.valid('json'),
    };
    return answer(c, await inviteOwner(c.var.operator, input));
  },
);
