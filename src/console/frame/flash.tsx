import type { Child } from 'hono/jsx';
import { Count, Written } from '../parts/inline';
import type { Flash, FlashKind } from '../session/flash';

/** The words of each kind. The page of a request says more about its own. */
const WORDS: Record<FlashKind, (count: number) => Child> = {
  approval: () => 'Your approval was taken.',
  denial: () => 'Your denial was taken.',
  approved: () => 'Approved.',
  revoked: () => 'The token was revoked.',
  denied: (count) => (
    <>
      <Count of={count} one="request" /> denied.
    </>
  ),
  skipped: () => 'Set aside until tomorrow. Until then it comes last.',
  saved: () => 'Saved.',
  joined: () => (
    <p>
      You have joined. If this device gets lost, nobody can let you in again:{' '}
      <a href="/console/me#passkeys-title">make a second passkey</a> on another device.
    </p>
  ),
  joined_with_provider: () => (
    <p>
      You have joined, and can sign in only at the identity provider:{' '}
      <a href="/console/me#passkeys-title">make a passkey</a> as a second way. You also need one to
      sign decisions.
    </p>
  ),
  created: () => 'Created.',
  deleted: () => 'Deleted.',
  ended: () => 'Ended.',
  resumed: () => 'The agents can act again.',
  sent: () => 'It is being sent.',
};

/** The words about a request, on the page of another one. */
const OF_REQUEST: Partial<Record<FlashKind, string>> = {
  approval: 'Your approval was taken, and more are needed',
  denial: 'Your denial was taken',
  approved: 'Approved',
  denied: 'Denied',
  skipped: 'Set aside until tomorrow',
};

/** The flash message in the words of every page; nothing if there is none. */
export function FlashStrip({ flash }: { flash: Flash | null }) {
  if (!flash) return null;
  const { kind, count, request } = flash;
  if (!request) return <Strip hasFocus>{WORDS[kind](count)}</Strip>;
  return (
    <Strip hasFocus>
      <p>
        {OF_REQUEST[kind]}:{' '}
        <a href={`/console/permissions/${request.id}`}>
          <Written text={request.name} />
        </a>
      </p>
    </Strip>
  );
}

interface StripProps {
  /** Whether it gets the focus, so that a screen reader reads it; else something inside it does. */
  hasFocus: boolean;
  children: Child;
}

/** The line below the heading that says what was just done. */
export function Strip({ hasFocus, children }: StripProps) {
  return (
    <div class="flash" role="status" tabindex={-1} autofocus={hasFocus}>
      {children}
    </div>
  );
}
