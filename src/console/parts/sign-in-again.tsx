import { usePage } from '../frame/page-context';
import { Action } from './form';

interface SignInAgainProps {
  /** The page to which the person comes back. */
  page: string;
  /** The purpose of the recent sign-in, such as `To confirm`. */
  purpose: string;
}

/**
 * Says that the sign-in is not recent enough, with a button that leads to a new one; nothing if it
 * is.
 */
export function SignInAgain({ page, purpose }: SignInAgainProps) {
  if (usePage().isRecentSignIn) return null;
  return (
    <div class="bar">
      <p class="soft">
        You signed in more than 10 minutes ago. {purpose}, sign in again: then you come back here.
      </p>
      <Action
        action="/console/sign-out"
        label="Sign out and in again"
        fields={{ return: page, recent: 'true' }}
      />
    </div>
  );
}
