import { Problem } from '../../errors';
import type { MemberRef, UserPrincipal } from '../../http/context';

/**
 * The member who signed in as a person, with a passkey or the identity provider.
 * @throws Problem `person_required` for a session that was started with a user token
 */
export function requirePerson({ member, token }: UserPrincipal): MemberRef {
  if (member && token === null) return member;
  throw new Problem(
    'person_required',
    'You signed in with a user token. Only a member who signed in with a passkey or at the identity provider can do this.',
  );
}
