import { Problem } from '../../errors';
import { MINUTE } from '../../lib/time';
import type { SignedIn } from './access';

/** How long a sign-in counts as recent, in milliseconds. What outlives a session needs a recent one. */
export const RECENT = 10 * MINUTE;

/**
 * Whether the caller signed in at most 10 minutes ago: with a passkey, at the identity provider, or with the user token to
 * which the session belongs.
 */
export function isRecentSignIn({ session, context }: SignedIn): boolean {
  return session.authenticatedAt + RECENT > context.runtime.now();
}

/** @throws Problem `unauthorized` unless {@link isRecentSignIn} */
export function requireRecentSignIn(signedIn: SignedIn): void {
  if (isRecentSignIn(signedIn)) return;
  throw new Problem('unauthorized', 'You signed in more than 10 minutes ago. To do this, sign in again.', {
    headers: { 'WWW-Authenticate': 'Cookie' },
  });
}
