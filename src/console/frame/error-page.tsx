import type { Context as HonoContext } from 'hono';
import type { AppEnv } from '../../http/context';
import { answerError } from '../../http/problem';
import type { ConsoleContext } from '../session/access';
import { CsrfField, sendPage } from './page';

/**
 * Answers an error. A person who loaded a page or sent a form gets a page that says what happened and what to do; a
 * script gets the problem document.
 */
export async function answerConsoleError(error: Error, c: HonoContext<AppEnv>): Promise<Response> {
  const answer = await answerError(error, c);
  if (!c.req.header('Accept')?.includes('text/html')) return answer;
  const problem = (await answer.json()) as ProblemDocument;
  const typed = await readTyped(c, problem);
  const page = sendPage(
    c as unknown as ConsoleContext,
    {
      title: typed ? 'Not sent yet' : problem.title,
      isNarrow: true,
      children: typed ? (
        <SendAgain problem={problem} path={c.req.path} typed={typed} />
      ) : (
        <Explanation {...problem} headers={answer.headers} isSignedIn={isSignedIn(c)} />
      ),
    },
    answer.status,
  );
  const retryAfter = answer.headers.get('Retry-After');
  if (retryAfter !== null) page.headers.set('Retry-After', retryAfter);
  return page;
}

interface ProblemDocument {
  title: string;
  detail: string;
  code: string;
  errors?: { path: string; message: string }[];
}

/** Whether the request came from somebody who is signed in. A request may fail before that is known. */
function isSignedIn(c: HonoContext<AppEnv>): boolean {
  return (c as unknown as ConsoleContext).var.signedIn !== undefined;
}

function Explanation({
  detail,
  errors,
  headers,
  isSignedIn,
}: ProblemDocument & { headers: Headers; isSignedIn: boolean }) {
  const seconds = headers.get('Retry-After');
  return (
    <>
      <p>{detail}</p>
      {errors && (
        <ul class="faults">
          {errors.map(({ path, message }) => (
            <li>
              <strong>{path.replace(/^(body|query)\.?/, '') || 'The form'}</strong> {message}
            </li>
          ))}
        </ul>
      )}
      {seconds !== null && <p>Try again in {seconds} seconds.</p>}
      <p class="actions">
        <a class="button" href={isSignedIn ? '/console' : '/console/sign-in'}>
          {isSignedIn ? 'Back to the inbox' : 'Sign in'}
        </a>
      </p>
    </>
  );
}

/** The fields of a form that was refused because the session had ended or changed; null for any other request. */
async function readTyped(c: HonoContext<AppEnv>, { code }: ProblemDocument): Promise<[string, string][] | null> {
  const isForm = c.req.header('Content-Type')?.startsWith('application/x-www-form-urlencoded');
  const isOwn = c.req.header('Origin') === c.var.config.publicUrl;
  if (!isForm || !isOwn || (code !== 'unauthorized' && code !== 'wrong_credential')) return null;
  const fields = await c.req.parseBody({ all: true });
  return Object.entries(fields)
    .filter(([name]) => name !== 'csrf')
    .flatMap(([name, value]) => [value].flat().map((one): [string, string] => [name, String(one)]));
}

interface SendAgainProps {
  problem: ProblemDocument;
  path: string;
  typed: [string, string][];
}

/** Keeps what somebody typed while their session ended: they sign in on another tab, and send it again. */
function SendAgain({ problem, path, typed }: SendAgainProps) {
  const isSignedOut = problem.code === 'unauthorized';
  return (
    <>
      <p>
        {isSignedOut
          ? 'Your session has ended, so nothing was changed. What you typed is kept here.'
          : 'You have signed in again since you opened the page, so nothing was changed. What you typed is kept here.'}
      </p>
      {isSignedOut && (
        <p>
          First{' '}
          <a href="/console/sign-in" target="_blank" rel="noopener">
            sign in on a new tab
          </a>
          , then come back and send it again.
        </p>
      )}
      {typed.length > 0 && (
        <dl>
          {typed.map(([name, value]) => (
            <>
              <dt>{name.replaceAll('_', ' ')}</dt>
              <dd>{value}</dd>
            </>
          ))}
        </dl>
      )}
      <form method="post" action={path}>
        <CsrfField />
        {typed.map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <button type="submit">Send it again</button>
      </form>
    </>
  );
}
