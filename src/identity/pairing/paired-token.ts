import type { MemberRole } from '../../db/schema';
import type { Scope } from '../../http/context';
import { DAY } from '../../lib/time';
import { ROLE_SCOPES } from '../roles';

/** Lifetime of a paired program's token, in milliseconds. */
export const PAIRED_TOKEN_LIFETIME = 30 * DAY;

/**
 * The scopes of a paired program: those of the member's role, but it cannot change members or make
 * user tokens.
 */
export function pairedScopes(role: MemberRole): Scope[] {
  return ROLE_SCOPES[role].filter((scope) => scope !== 'account:write');
}
