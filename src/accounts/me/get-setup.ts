import { and, eq, inArray, isNull, ne, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { PASSKEYS_BY_MEMBER } from '../../db/passkeys-by-member';
import {
  agents,
  CHANNEL_KINDS,
  MEMBER_ROLES,
  MEMBER_STATUSES,
  members,
  passkeys,
  policies,
  receivers,
} from '../../db/schema';
import type { MemberRef, UserContext } from '../../http/context';
import { rolesWith } from '../../identity/roles';

/** Which of the first steps of an account are done. */
export interface Setup {
  agent: boolean;
  /** A second way of the caller to sign in, so that a lost device locks nobody out. */
  secondSignIn: boolean;
  /** Somebody else who may decide, or is invited to. */
  approver: boolean;
  channel: boolean;
  policy: boolean;
}

/** Loads which of the first steps are done, for a member of the account. */
export async function getSetup(
  { reader, principal }: UserContext,
  member: MemberRef,
): Promise<Setup> {
  const account = principal.account.number;
  const found = (condition: SQL, name: keyof Setup) =>
    sql<boolean>`${condition}`.mapWith(Boolean).as(name);
  const isOwn = and(eq(members.account, account), eq(members.id, member.id));
  const ways = sql`(
    select count(*) from ${PASSKEYS_BY_MEMBER}
    where ${and(eq(passkeys.account, account), eq(passkeys.member, member.id), isNull(passkeys.removedAt))}
  ) + (select ${members.identity} is not null from ${members} where ${isOwn})`;
  const receiversOfPeople = and(
    eq(receivers.account, account),
    inArray(receivers.kind, CHANNEL_KINDS),
  );
  const [[setup]] = await reader.load([
    reader
      .select({
        agent: found(has(agents, eq(agents.account, account)), 'agent'),
        secondSignIn: found(sql`${ways} >= 2`, 'secondSignIn'),
        approver: found(hasOtherDecider(account, member), 'approver'),
        channel: found(has(receivers, receiversOfPeople), 'channel'),
        policy: found(has(policies, eq(policies.account, account)), 'policy'),
      })
      .from(sql`(select 1)`),
  ]);
  if (!setup) throw new Error('the query has no row');
  return setup;
}

function has(table: typeof agents | typeof receivers | typeof policies, condition?: SQL): SQL {
  return sql`exists (select 1 from ${table} where ${condition})`;
}

/** Whether another member who may decide is active or invited. Each half reads one index. */
function hasOtherDecider(account: number, member: MemberRef): SQL {
  const codes = rolesWith('permissions:decide').map((role) => codeOf(MEMBER_ROLES, role));
  const roles = sql.join(codes, sql`, `);
  const isOther = and(eq(members.account, account), ne(members.id, member.id));
  const status = (name: 'active' | 'invited') => codeOf(MEMBER_STATUSES, name);
  return sql`(
    exists (
      select 1 from ${members} indexed by members_by_role
      where ${isOther} and ${members.status} = ${status('active')} and ${members.role} in (${roles})
    ) or exists (
      select 1 from ${members} indexed by members_by_status
      where ${isOther} and ${members.status} = ${status('invited')} and ${members.role} in (${roles})
    )
  )`;
}
