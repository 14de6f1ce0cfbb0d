import { Problem } from '../../errors';
import { MINUTE } from '../../lib/time';
import type { SignedIn } from '../session/access';

/** For how many milliseconds after the sign-in a member may change the own passkeys. */
const FRESH = 10 * MINUTE;

/** Whether the member signed in so recently that the passkeys may be changed. */
export function isFresh({ session, context }: SignedIn): boolean {
  return session.createdAt + FRESH > context.runtime.now();
}

/** @throws Problem `unauthorized` if the member signed in too long ago to change passkeys */
export function requireFresh(signedIn: SignedIn): void {
  if (isFresh(signedIn)) return;
  throw new Problem('unauthorized', 'Sign in again: passkeys can be changed within 10 minutes of a sign-in.', {
    headers: { 'WWW-Authenticate': 'Cookie' },
  });
}
