import type { Child } from 'hono/jsx';
import { pluralOf } from '../parts/words';
import type { Deed, Told } from '../session/told';

/** What each deed is called. The page of a request says more about a vote. */
const WORDS: Record<Deed, (count: number) => string> = {
  voted: () => 'Your decision was taken.',
  revoked: () => 'The token was revoked.',
  denied: (count) => `${count} ${pluralOf(count, 'request')} denied.`,
  saved: () => 'Saved.',
  created: () => 'Created.',
  deleted: () => 'Deleted.',
  ended: () => 'Ended.',
  resumed: () => 'The agents can act again.',
  sent: () => 'It is being sent.',
};

/** Says in the words of every page what was just done; nothing if nothing was. */
export function ToldStrip({ told }: { told: Told | null }) {
  return told && <Strip hasFocus>{WORDS[told.deed](told.count)}</Strip>;
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
