import { and, eq, gt, notInArray, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { MEMBER_STATUSES, type MemberRole, members } from '../../db/schema';
import type { MemberRef } from '../../http/context';
import { ROLE_SCOPES } from '../../identity/roles';
import type { RecordWriter } from '../../ledger/ledger';
import type { Id } from '../../lib/typeid';
import { grantableRoles } from './rank';

/**
 * Makes the statement that ends the open invitations of a member that the member could not make
 * with another role.
 * @param role the new role; null if the member can invite nobody any more
 */
export function endInvitations(
  write: RecordWriter,
  account: number,
  { by, role, now }: { by: Id<'member'>; role: MemberRole | null; now: number },
) {
  return write
    .update(members)
    .set({ invitationHash: null, invitationExpiresAt: now, updatedAt: now })
    .where(
      and(
        isInvited(account),
        eq(members.invitedBy, by),
        gt(members.invitationExpiresAt, now),
        notInArray(members.role, role === null ? [] : invitableRoles({ id: by, role })),
      ),
    );
}

/**
 * The condition that finds the invited members of an account. By itself SQLite takes the primary
 * key, and reads everybody who ever was a member.
 */
function isInvited(account: number): SQL {
  return sql`(${members.account}, ${members.id}) in (
    select invited.account, invited.id from ${members} as invited indexed by members_by_status
    where invited.account = ${account} and invited.status = ${codeOf(MEMBER_STATUSES, 'invited')}
  )`;
}

/** The roles to which a member can invite people. */
function invitableRoles(member: MemberRef): MemberRole[] {
  const scopes = ROLE_SCOPES[member.role];
  return scopes.includes('account:write') ? grantableRoles({ member, scopes }) : [];
}
