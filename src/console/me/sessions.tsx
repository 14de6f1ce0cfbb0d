import { endSession } from '../../accounts/me/end-session';
import { pathId } from '../../http/path-id';
import type { Session } from '../../identity/sessions/session';
import { readForm } from '../frame/form';
import { Section } from '../parts/blocks';
import { Action } from '../parts/form';
import { Badge, Device, Time, TimeSince, Written } from '../parts/inline';
import { type ConsoleContext, requireScopes } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { signInAgainPath, signInPath } from '../session/return-path';
import { clearSessionCookie } from '../session/session';

/** Where the member is signed in, this session first. */
export function Sessions({
  sessions,
  currentId,
}: {
  sessions: readonly Session[];
  currentId: string;
}) {
  const sorted = [...sessions].sort(
    (a, b) => Number(b.id === currentId) - Number(a.id === currentId),
  );
  return (
    <Section name="sessions" title="Where you are signed in">
      <ul class="lines">
        {sorted.map(({ id, token_id, ip_address, user_agent, last_seen_at, created_at }) => (
          <li>
            <span>
              <Device userAgent={user_agent} />{' '}
              {id === currentId && <Badge state="active" label="this session" />}
              <small>
                {ip_address !== '' && [<Written text={ip_address} />, ', ']}
                signed in <Time at={created_at} />, seen <TimeSince at={last_seen_at} />
                {token_id !== null && ', by user token'}
              </small>
            </span>
            {id !== currentId && <Action action={`/console/me/sessions/${id}/end`} label="End" />}
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Ends one of the caller's sessions. */
export async function endOwnSession(c: ConsoleContext): Promise<Response> {
  requireScopes(c.var.signedIn.context.principal, 'account:read');
  const id = pathId(c, 'session');
  await endSession(c.var.signedIn.context, { id });
  return redirectWithFlash(c, '/console/me', 'ended');
}

/**
 * Ends the session in which the member is signed in. The next sign-in shows the page that the form
 * names.
 */
export async function signOut(c: ConsoleContext): Promise<Response> {
  const { context, session } = c.var.signedIn;
  await endSession(context, { id: session.id });
  clearSessionCookie(c);
  const form = await readForm(c);
  const pathOf = form.text('recent') === 'true' ? signInAgainPath : signInPath;
  return c.redirect(pathOf(form.text('return')), 303);
}
