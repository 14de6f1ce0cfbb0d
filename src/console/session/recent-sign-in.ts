import { Problem } from '../../errors';
import type { MemberRef } from '../../http/context';
import { MINUTE } from '../../lib/time';
import { requirePerson, type SignedIn } from '../session/access';

/** Milliseconds after the sign-in in which a member may change their passkeys and pair programs. */
const FRESH = 10 * MINUTE;

/** Whether a member signed in as a person so recently that passkeys may be changed and programs paired. */
export function isFresh({ session, context }: SignedIn): boolean {
  return context.principal.token === null && session.createdAt + FRESH > context.runtime.now();
}

/**
 * Returns the member who is signed in, if they may change their passkeys now.
 * @throws Problem `person_required` for a session of a user token; `unauthorized` if the sign-in was too long ago
 */
export function requireFresh(signedIn: SignedIn): MemberRef {
  const member = requirePerson(signedIn);
  if (isFresh(signedIn)) return member;
  throw new Problem('unauthorized', 'Sign in again: passkeys can be changed within 10 minutes of a sign-in.', {
    headers: { 'WWW-Authenticate': 'Cookie' },
  });
}
