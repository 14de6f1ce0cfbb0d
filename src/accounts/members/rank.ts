import { MEMBER_ROLES, type MemberRole } from '../../db/schema';
import { Problem } from '../../errors';
import type { Scope, UserPrincipal } from '../../http/context';
import { ROLE_SCOPES } from '../../identity/roles';

/**
 * Whether a caller may invite, change or remove a member with a role. Only an owner may do so with
 * an owner.
 */
export function hasRankOver({ member }: Pick<UserPrincipal, 'member'>, role: MemberRole): boolean {
  return role !== 'owner' || member?.role === 'owner';
}

/** @throws Problem `insufficient_role` for a caller without {@link hasRankOver} */
export function requireRankOver(principal: UserPrincipal, role: MemberRole): void {
  if (hasRankOver(principal, role)) return;
  throw new Problem('insufficient_role', 'Only an owner may invite, change or remove an owner.');
}

/** The part of a caller that decides which roles the caller may give. */
type Granter = Pick<UserPrincipal, 'member' | 'scopes'>;

/** The roles that a caller may give somebody. */
export function grantableRoles(principal: Granter): MemberRole[] {
  return MEMBER_ROLES.filter(
    (role) => hasRankOver(principal, role) && missingScopes(principal, role).length === 0,
  );
}

/** The scopes of a role that the caller's credential lacks. */
function missingScopes({ scopes }: Granter, role: MemberRole): Scope[] {
  return ROLE_SCOPES[role].filter((scope) => !scopes.includes(scope));
}

/**
 * Refuses a caller who may not give somebody a role: one who is no owner and would give `owner`, or
 * whose credential lacks a scope of the role.
 * @throws Problem `insufficient_role`
 */
export function requireGrantable(principal: UserPrincipal, role: MemberRole): void {
  requireRankOver(principal, role);
  const missing = missingScopes(principal, role);
  if (missing.length === 0) return;
  throw new Problem(
    'insufficient_role',
    `Your credential lacks scopes of the role \`${role}\`: ${missing.join(', ')}. You can give a role only if you have all of its scopes.`,
    { errors: [{ path: 'body.role', message: 'has scopes that the calling credential lacks' }] },
  );
}
