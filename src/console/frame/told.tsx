import type { Child } from 'hono/jsx';
import { Count, Written } from '../parts/inline';
import type { Deed, Told } from '../session/told';

/** The words for each deed. The page of a request says more about its own. */
const WORDS: Record<Deed, (count: number) => Child> = {
  approval: () => 'Your approval was taken.',
  denial: () => 'Your denial was taken.',
  approved: () => 'Approved.',
  revoked: () => 'The token was revoked.',
  denied: (count) => (
    <>
      <Count of={count} one="request" /> denied.
    </>
  ),
  skipped: () => 'Set aside until tomorrow: it comes last.',
  saved: () => 'Saved.',
  joined: () => (
    <p>
      You have joined. If this device gets lost, nobody can let you in again:{' '}
      <a href="/console/me#passkeys-title">make a second passkey</a> on another one.
    </p>
  ),
  joined_with_provider: () => (
    <p>
      You have joined, and the identity provider is your only way in:{' '}
      <a href="/console/me#passkeys-title">make a passkey</a> as a second one. Decisions that must
      be signed need one too.
    </p>
  ),
  created: () => 'Created.',
  deleted: () => 'Deleted.',
  ended: () => 'Ended.',
  resumed: () => 'The agents can act again.',
  sent: () => 'It is being sent.',
};

/** The words for a deed to a request, on the page of another request. */
const OF_REQUEST: Partial<Record<Deed, string>> = {
  approval: 'Your approval was taken, and more are needed',
  denial: 'Your denial was taken',
  approved: 'Approved',
  denied: 'Denied',
  skipped: 'Set aside until tomorrow',
};

/** Says in the words of every page what was just done; nothing if nothing was. */
export function ToldStrip({ told }: { told: Told | null }) {
  if (!told) return null;
  const { deed, count, request } = told;
  if (!request) return <Strip hasFocus>{WORDS[deed](count)}</Strip>;
  return (
    <Strip hasFocus>
      <p>
        {OF_REQUEST[deed]}:{' '}
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
    <div class="told" role="status" tabindex={-1} autofocus={hasFocus}>
      {children}
    </div>
  );
}
