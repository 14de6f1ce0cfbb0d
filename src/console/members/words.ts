import type { Member } from '../../accounts/members/member';

/** A member's name for people; without one, the e-mail address or the id. */
export function memberName({ id, name, email }: Pick<Member, 'id' | 'name' | 'email'>): string {
  return name ?? email ?? id;
}

/** How a member can sign in, in words. */
export function signInWords({ sign_in, status }: Pick<Member, 'sign_in' | 'status'>): string {
  if (status === 'invited') return 'has not joined yet';
  if (status === 'removed') return 'cannot sign in';
  const ways = sign_in.map((way) => (way === 'oidc' ? 'identity provider' : 'passkey'));
  return ways.join(' and ') || 'no way to sign in';
}

/** Said of a member whose e-mail address is not proven. */
export const UNPROVEN = 'The e-mail address is not confirmed, so no mail is sent to it.';
