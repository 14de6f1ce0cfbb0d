import type { Context as HonoContext } from 'hono';
import type { AppEnv } from '../../http/context';
import { answerError } from '../../http/problem';
import type { ConsoleContext } from '../session/access';
import { isSenderMark } from '../session/session';
import { CsrfField, sendPage } from './page';

/**
 * Answers an error. A person who loaded a page or sent a form gets a page that says what happened and what to do; a
 * script gets the problem document.
 */
export async function answerConsoleError(error: Error, c: HonoContext<AppEnv>): Promise<Response> {
  const answer = await answerError(error, c);
  if (!c.req.header('Accept')?.includes('text/html')) return answer;
  const problem = (await answer.json()) as ProblemDocument;
  const kept = await readKept(c, problem);
  const page = sendPage(
    c as unknown as ConsoleContext,
    {
      title: kept ? 'Not sent yet' : problem.title,
      isNarrow: true,
      children: kept ? (
        <SendAgain problem={problem} path={c.req.path} kept={kept} />
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

/** A form that was refused because the session had ended or changed. */
interface Kept {
  fields: [string, string][];
  /** The mark of the person who filled it in. */
  sender: string;
  /** Whether somebody else is signed in now. */
  isForeign: boolean;
}

/** The most fields that the page keeps: forms that people fill in have fewer. */
const MAX_KEPT_FIELDS = 200;

/** The form that was refused because the session had ended or changed; null for any other request. */
async function readKept(c: HonoContext<AppEnv>, { code }: ProblemDocument): Promise<Kept | null> {
  const isForm = c.req.header('Content-Type')?.startsWith('application/x-www-form-urlencoded');
  const isOwn = c.req.header('Origin') === c.var.config.publicUrl;
  if (!isForm || !isOwn || (code !== 'unauthorized' && code !== 'wrong_credential')) return null;
  const { csrf: _, sender: mark, ...all } = await c.req.parseBody({ all: true });
  const fields = Object.entries(all).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  );
  if (fields.length > MAX_KEPT_FIELDS) return null;
  const sender = typeof mark === 'string' ? mark : '';
  const { signedIn } = (c as unknown as ConsoleContext).var;
  const isForeign =
    signedIn !== undefined && !(await isSenderMark(c.var.config.keyring, signedIn.context.principal, sender));
  return { fields, sender, isForeign };
}

interface SendAgainProps {
  problem: ProblemDocument;
  path: string;
  kept: Kept;
}

/**
 * Keeps what somebody typed while their session ended: they sign in on another tab, and send it again. Nobody else can,
 * and nobody can send a decision again, because this page does not show what it is about.
 */
function SendAgain({ problem, path, kept: { fields, sender, isForeign } }: SendAgainProps) {
  const isSignedOut = problem.code === 'unauthorized';
  const request = /^(.+)\/decide$/.exec(path)?.[1];
  const shown = fields.filter(([name]) => request === undefined || name === 'reason');
  return (
    <>
      <p>
        {isForeign
          ? 'This was typed by somebody else, before you signed in. Nothing was changed, and it cannot be sent in your name.'
          : isSignedOut
            ? 'Your session has ended, so nothing was changed. What you typed is kept here.'
            : 'You have signed in again since you opened the page, so nothing was changed. What you typed is kept here.'}
      </p>
      {isSignedOut && (
        <p>
          First{' '}
          <a href="/console/sign-in" target="_blank" rel="noopener">
            sign in on a new tab
          </a>
          , then come back{request === undefined ? ' and send it again' : ''}.
        </p>
      )}
      {shown.length > 0 && (
        <dl>
          {shown.map(([name, value]) => (
            <>
              <dt>{name.replaceAll('_', ' ')}</dt>
              <dd>{value}</dd>
            </>
          ))}
        </dl>
      )}
      {request !== undefined && (
        <p class="actions">
          <a class="button" href={request}>
            Open the request and decide again
          </a>
        </p>
      )}
      {request === undefined && !isForeign && (
        <form method="post" action={path}>
          <CsrfField sender={sender} />
          {fields.map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <button type="submit">Send it again</button>
        </form>
      )}
    </>
  );
}
