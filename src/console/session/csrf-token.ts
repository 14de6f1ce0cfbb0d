import { Problem } from '../../errors';
import type { ConsoleContext } from './access';
import { isSenderMark } from './session';

/** The header with the mark of the person who filled in a form. */
const SENDER_HEADER = 'X-Form-Sender';

/**
 * Answers the page's script with the CSRF token of the session, for a form that was kept while its
 * person signed in on another tab. Nobody else gets it, so that nobody sends in their own name what
 * another person typed.
 * @throws Problem `wrong_credential` if somebody else has signed in
 */
export async function sendCsrfToken(c: ConsoleContext): Promise<Response> {
  const { config, signedIn } = c.var;
  if (
    !(await isSenderMark(
      config.keyring,
      signedIn.context.principal,
      c.req.header(SENDER_HEADER) ?? '',
    ))
  ) {
    throw new Problem(
      'wrong_credential',
      'Somebody else has signed in: what you typed is not sent in their name.',
    );
  }
  return c.json({ csrf: signedIn.csrf }, 200, { 'Cache-Control': 'no-store' });
}
