import type { Runtime } from '../../env';
import { Problem } from '../../errors';
import { MINUTE } from '../../lib/time';

/** How long a sign-in counts as recent, in milliseconds. */
const RECENT = 10 * MINUTE;

/**
 * Whether a sign-in at a time is recent: at most 10 minutes ago. What outlives a session needs a
 * recent sign-in.
 */
export function isRecent(authenticatedAt: number, now: number): boolean {
  return authenticatedAt + RECENT > now;
}

/**
 * When somebody who is signed in proved who they are, in milliseconds since the epoch, and the
 * clock.
 */
interface SignInTime {
  session: { authenticatedAt: number };
  context: { runtime: Pick<Runtime, 'now'> };
}

/**
 * Whether the caller's sign-in is recent: with a passkey, at the identity provider, or
 * with the user token to which the session belongs.
 */
export function isRecentSignIn({ session, context }: SignInTime): boolean {
  return isRecent(session.authenticatedAt, context.runtime.now());
}

/** @throws Problem `unauthorized` unless {@link isRecentSignIn} */
export function requireRecentSignIn(signedIn: SignInTime): void {
  if (isRecentSignIn(signedIn)) return;
  throw new Problem(
    'unauthorized',
    'You signed in more than 10 minutes ago. To do this, sign in again.',
    {
      headers: { 'WWW-Authenticate': 'Cookie' },
    },
  );
}
