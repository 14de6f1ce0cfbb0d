import { and, eq, getTableColumns, type InferSelectModel, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
import { codeOf } from '../../db/columns';
import { ConstraintError, type Reader } from '../../db/database';
import { PASSKEYS_BY_MEMBER } from '../../db/passkeys-by-member';
import { accounts, MEMBER_ROLES, MEMBER_STATUSES, members } from '../../db/schema';
import { notFound, Problem } from '../../errors';
import type { RequestContext } from '../../http/context';
import { EXAMPLE, exampleId } from '../../http/examples';
import { choice, text } from '../../http/fields';
import { idField, timeField } from '../../http/response-fields';
import type { CallerSql } from '../../identity/credentials';
import { MemberRoleField } from '../../identity/roles';
import { type Guard, hasRow } from '../../ledger/guard';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { retentionDays } from '../../lib/plans';
import { DAY, formatTime, formatTimeOrNull } from '../../lib/time';
import { type Id, parseId } from '../../lib/typeid';
import { ADDRESS_FORM, accountFields } from '../account';

/** Maximum number of members of an account that are not removed. */
export const MAX_MEMBERS = 1_000;

export type MemberRow = Omit<InferSelectModel<typeof members>, 'account'> & { hasPasskey: boolean };

/** The columns of a {@link MemberRow}. */
export const memberRow = {
  ...getTableColumns(members),
  // Drizzle leaves out the table's name in a select from one table: here it is needed.
  hasPasskey: sql<boolean>`exists (
    select 1 from ${PASSKEYS_BY_MEMBER}
    where passkeys.account = members.account and passkeys.member = members.id and passkeys.removed_at is null
  )`
    .mapWith(Boolean)
    .as('has_passkey'),
};

export const exampleMember = {
  id: exampleId('member'),
  email: 'ada@example.com',
  email_proven: true,
  name: 'Ada Lovelace',
  role: 'approver',
  status: 'active',
  sign_in: ['passkey'],
  last_seen_at: EXAMPLE.time,
  created_at: EXAMPLE.time,
  updated_at: EXAMPLE.time,
};

export const MemberStatusField = lazy(() =>
  choice(MEMBER_STATUSES).meta({
    id: 'MemberStatus',
    description:
      '`invited` until the invitation is accepted. The credentials of a `suspended` or `removed` member are refused.',
  }),
);

export const Member = lazy(() =>
  z
    .object({
      id: idField('member'),
      email: z
        .string()
        .nullable()
        .meta({ description: 'Null if the identity provider gave no address.' }),
      email_proven: z.boolean().meta({
        description:
          'Whether mail to the address is known to reach the member: the identity provider verified it, or the member ' +
          'confirmed it. Until then the member gets no mail but the one that asks for the confirmation.',
      }),
      name: z.string().nullable(),
      role: MemberRoleField(),
      status: MemberStatusField(),
      sign_in: z
        .array(z.enum(['passkey', 'oidc']))
        .meta({ description: 'How the member can sign in.' }),
      last_seen_at: timeField
        .nullable()
        .meta({ description: 'To the minute; null before the first request.' }),
      created_at: timeField,
      updated_at: timeField,
    })
    .meta({ id: 'Member', description: 'A person of the account.', examples: [exampleMember] }),
);

export type Member = LazyOutput<typeof Member>;

/** The fields of a member that clients may set, except the status. */
export const memberFields = lazy(() => ({
  email: accountFields().email.meta({
    description: `${ADDRESS_FORM} At most one member who is not removed has it, in upper or lower case.`,
    examples: [exampleMember.email],
  }),
  name: text(1, 255),
  role: MemberRoleField(),
}));

export function presentMember(row: MemberRow): Member {
  return {
    id: row.id,
    email: row.email,
    email_proven: row.emailProvenAt !== null,
    name: row.name,
    role: row.role,
    status: row.status,
    sign_in: [
      ...(row.hasPasskey ? (['passkey'] as const) : []),
      ...(row.identity !== null && row.status !== 'removed' ? (['oidc'] as const) : []),
    ],
    last_seen_at: formatTimeOrNull(row.lastSeenAt),
    created_at: formatTime(row.createdAt),
    updated_at: formatTime(row.updatedAt),
  };
}

/**
 * Returns the milliseconds for which a removed member is kept: seven days longer than the audit
 * entries that may name the member, so that an auditor can read who decided.
 */
export function keptAfterRemoval(account: Parameters<typeof retentionDays>[0]): number {
  return (retentionDays(account) + 7) * DAY;
}

/** The condition that finds a member of an account. */
export function isMemberWithId(account: number | SQL<number>, id: Id<'member'>) {
  return and(eq(members.account, account), eq(members.id, id));
}

/**
 * The condition that finds a member as it was read: what may be done to a member depends on its
 * role and status.
 */
export function isMemberAsRead(
  account: number,
  { id, role, status }: Pick<MemberRow, 'id' | 'role' | 'status'>,
) {
  return and(isMemberWithId(account, id), eq(members.role, role), eq(members.status, status));
}

export function isActiveOwner({ role, status }: Pick<MemberRow, 'role' | 'status'>): boolean {
  return role === 'owner' && status === 'active';
}

/** Preloads the member in the path. */
export async function preloadMember(c: RequestContext, reader: Reader, { account }: CallerSql) {
  const id = parseId('member', c.req.param('id') ?? '');
  return {
    member: id && reader.select(memberRow).from(members).where(isMemberWithId(account, id)),
  };
}

/**
 * The member that {@link preloadMember} loads.
 * @throws Problem `not_found`
 */
export function requireMember([row]: MemberRow[] = []): MemberRow {
  if (!row) throw notFound('member');
  return row;
}

/** The guard of a change after which a member is no active owner any more: another member is. */
export function otherOwnerGuard(account: number, id: Id<'member'>): Guard {
  return {
    name: 'account_keeps_an_owner',
    holds: sql`exists (
      select 1 from ${members} as other
      where other.account = ${account} and other.status = ${codeOf(MEMBER_STATUSES, 'active')}
        and other.role = ${codeOf(MEMBER_ROLES, 'owner')} and other.id <> ${sql.param(id, members.id)}
    )`,
    otherwise: () =>
      new Problem(
        'last_owner',
        'This is the last active owner of the account. Make another member an owner first.',
      ),
  };
}

/**
 * The guard of a new member: the account has fewer than the maximum number.
 * @param condition finds the account
 */
export function memberLimitGuard(condition: SQL): Guard {
  return {
    name: 'members_below_limit',
    holds: sql`(
      select count(*) from ${members}
      where ${members.account} = (select ${accounts.number} from ${accounts} where ${condition})
        and ${members.status} in (
          ${codeOf(MEMBER_STATUSES, 'invited')}, ${codeOf(MEMBER_STATUSES, 'active')}, ${codeOf(MEMBER_STATUSES, 'suspended')}
        )
    ) < ${MAX_MEMBERS}`,
    otherwise: () =>
      new Problem(
        'conflict',
        `The account has ${MAX_MEMBERS} members, the maximum. Remove one first.`,
      ),
  };
}

/**
 * The guard of a change of a member that was read before.
 * @param found finds the member as it was read
 */
export function memberWasAsRead(found: SQL | undefined): Guard {
  return {
    name: 'member_was_as_read',
    holds: hasRow(members, found),
    otherwise: () =>
      new Problem(
        'conflict',
        'The member was changed at the same time. Read it, and send the request again.',
      ),
  };
}

/**
 * Handles the error of a change that inserts a member.
 * @throws Problem `conflict` if another member has the e-mail address; otherwise the same error
 */
export function refuseEmailTaken(error: unknown): never {
  if (!(error instanceof ConstraintError) || error.subject !== 'members.email') throw error;
  throw new Problem('conflict', 'Another member has this e-mail address.', {
    errors: [{ path: 'body.email', message: 'belongs to another member' }],
  });
}
