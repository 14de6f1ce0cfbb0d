import { MEMBER_ROLES } from '../db/schema';
import { SCOPES, type Scope } from '../http/context';
import { choice } from '../http/fields';
import { type LazyOutput, lazy } from '../lib/lazy';

export const MemberRoleField = lazy(() =>
  choice(MEMBER_ROLES).meta({
    id: 'MemberRole',
    description:
      'What a member may do. `owner`: everything. `admin`: everything, except to invite, change or remove an owner. ' +
      '`approver`: read, and decide requests. `developer`: register agents and webhooks, use tokens. `auditor`: read and export.',
  }),
);

export type MemberRole = LazyOutput<typeof MemberRoleField>;

/**
 * The scopes of each role. A member's credential never allows more, whatever its own scopes. Owners
 * and admins have the same scopes, but only an owner may invite, change or remove an owner.
 */
export const ROLE_SCOPES: Record<MemberRole, readonly Scope[]> = {
  owner: SCOPES,
  admin: SCOPES,
  approver: [
    'account:read',
    'agents:read',
    'permissions:read',
    'permissions:decide',
    'policies:read',
    'audit:read',
  ],
  developer: [
    'account:read',
    'agents:read',
    'agents:write',
    'permissions:read',
    'policies:read',
    'tokens:use',
    'audit:read',
    'webhooks:read',
    'webhooks:write',
    'channels:read',
    'connections:read',
  ],
  auditor: [
    'account:read',
    'agents:read',
    'permissions:read',
    'policies:read',
    'audit:read',
    'audit:export',
    'webhooks:read',
    'channels:read',
    'connections:read',
  ],
};

/** The scopes among these that a role has. */
export function limitToRole(scopes: readonly Scope[], role: MemberRole): Scope[] {
  return scopes.filter((scope) => ROLE_SCOPES[role].includes(scope));
}

/** The roles that have all of some scopes. */
export function rolesWith(...scopes: readonly Scope[]): MemberRole[] {
  return MEMBER_ROLES.filter((role) => scopes.every((scope) => ROLE_SCOPES[role].includes(scope)));
}
