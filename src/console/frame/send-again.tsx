import { LinkButton } from '../parts/blocks';
import { Written } from '../parts/inline';
import { ONCE_FIELD } from '../session/once';
import { signInAgainPath } from '../session/return-path';
import { CsrfField } from './page';

/**
 * A form that was refused because the session had ended or changed, or because of too many
 * requests.
 */
export interface Kept {
  fields: [string, string][];
  /** The CSRF token that it was sent with. */
  csrf: string;
  /** The mark of the person who filled it in. */
  sender: string;
  /** Whether somebody else is signed in now. */
  isForeign: boolean;
  /** Whether the person is signed in, but not recently enough. */
  isStale: boolean;
}

/** Fields that nobody typed, and values that were chosen from a list. */
const UNTYPED = [ONCE_FIELD, 'updated_at'];
const CHOSEN_ID = /^[a-z]+_[0-9a-z]{26}$/;

/** Why a form was not sent that is kept, by the code of the problem. */
const WHY: Record<string, string> = {
  unauthorized: 'Your session has ended',
  wrong_credential: 'You have signed in again since you opened the page',
  rate_limited: 'There were too many requests',
};

interface SendAgainProps {
  /** The code of the problem for which it was refused. */
  code: string;
  /** The address to which the form was sent. */
  url: string;
  kept: Kept;
  /** After how many seconds it can be sent again. */
  retryAfter: string | null;
}

/** The page on which a person can repeat a decision that was refused. */
interface DecisionPage {
  path: string;
  label: string;
  /** Whether the page shows again what was typed, if that is sent to it. */
  showsTyped: boolean;
}

/** The page of the decision that was sent to the address; undefined for another form. */
function pageOfDecision(url: string): DecisionPage | undefined {
  const { pathname, search } = new URL(url);
  const label = 'Open the request and decide again';
  if (pathname === '/console/pair') return { path: pathname + search, label, showsTyped: false };
  if (pathname === '/console/deny')
    return { path: '/console', label: 'Open the inbox and deny again', showsTyped: true };
  const [, path] = /^(.+)\/decide$/.exec(pathname) ?? [];
  if (path === undefined) return undefined;
  return { path, label, showsTyped: true };
}

/** Fields of a decision that are not kept: what one presses, and a signature. */
const NOT_KEPT = ['decision', 'assertion', 'signed_at'];

/**
 * Keeps what somebody typed while their session ended: they sign in on another tab, and send it
 * again. Nobody else can, and nobody can send a decision again, because this page does not show
 * what it is about: what was typed is sent to the page of the decision, which shows it again.
 */
export function SendAgain({ code, url, kept, retryAfter }: SendAgainProps) {
  const { fields, csrf, sender, isForeign, isStale } = kept;
  const why = isStale ? 'You signed in more than 10 minutes ago' : WHY[code];
  const isSignedOut = code === 'unauthorized';
  const isLimited = code === 'rate_limited';
  const decision = pageOfDecision(url);
  const isShown = (name: string) => {
    if (decision) return name === 'reason';
    return !UNTYPED.includes(name);
  };
  const shown = fields.filter(
    ([name, value]) => value !== '' && !CHOSEN_ID.test(value) && isShown(name),
  );
  return (
    <>
      <p>
        {isForeign &&
          'This was typed by somebody else, before you signed in. Nothing was changed, and it cannot be sent in your name.'}
        {!isForeign && `${why}, so nothing was changed. What you typed is kept here.`}
        {isLimited && ` Try again in ${retryAfter} seconds.`}
      </p>
      {isSignedOut && (
        <p>
          First{' '}
          <a
            href={isStale ? signInAgainPath('') : '/console/sign-in'}
            target="_blank"
            rel="noopener"
          >
            sign in {isStale && 'again '}on a new tab
          </a>
          , then come back {decision ? 'to decide again' : 'and send it again'}.
        </p>
      )}
      {shown.length > 0 && (
        <dl>
          {shown.map(([name, value]) => (
            <>
              <dt>{name.replaceAll('_', ' ')}</dt>
              <dd>
                <Written text={value} hasLines />
              </dd>
            </>
          ))}
        </dl>
      )}
      {decision && (isForeign || !decision.showsTyped) && (
        <p class="actions">
          <LinkButton href={decision.path} label={decision.label} />
        </p>
      )}
      {!isForeign && (!decision || decision.showsTyped) && (
        <form
          method="post"
          action={decision?.path ?? new URL(url).pathname}
          data-renew={isSignedOut && !decision ? '' : undefined}
        >
          <CsrfField sender={sender} csrf={isLimited ? csrf : undefined} />
          {fields.map(
            ([name, value]) =>
              !(decision && NOT_KEPT.includes(name)) && (
                <input type="hidden" name={name} value={value} />
              ),
          )}
          {isSignedOut && !decision && (
            <noscript>
              <p class="hint">
                After you have signed in, press the button. This page then appears once more: press
                it again.
              </p>
            </noscript>
          )}
          <p class="actions">
            <button type="submit">{decision?.label ?? 'Send it again'}</button>
          </p>
        </form>
      )}
    </>
  );
}
