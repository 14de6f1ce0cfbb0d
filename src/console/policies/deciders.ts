import { listMembers } from '../../accounts/members/list';
import { MAX_MEMBERS, type Member } from '../../accounts/members/member';
import type { UserContext } from '../../http/context';
import { rolesWith } from '../../identity/roles';

/** The roles that may decide. */
export const DECIDING_ROLES = rolesWith('permissions:decide');

/**
 * Loads the members who may be named as reviewers: those who may decide, also if they have not
 * joined yet. Null for a caller who may not read who the members are.
 */
export async function loadDeciders(context: UserContext): Promise<Member[] | null> {
  if (!context.principal.scopes.includes('account:read')) return null;
  const { data } = await listMembers(context, { limit: MAX_MEMBERS });
  return data.filter(({ role, status }) => DECIDING_ROLES.includes(role) && status !== 'suspended');
}
