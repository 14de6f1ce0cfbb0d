import type { Context as HonoContext } from 'hono';
import type { Child } from 'hono/jsx';
import type { AppEnv } from '../../http/context';
import { answerError } from '../../http/problem';
import { LinkButton } from '../parts/blocks';
import type { ConsoleContext } from '../session/access';
import { signInAgainPath } from '../session/return-path';
import { isSenderMark, sessionCookie } from '../session/session';
import { firstSection } from './navigation';
import { sendPage } from './page';
import { type Kept, SendAgain } from './send-again';

/**
 * Answers an error. A person who loaded a page or sent a form gets a page that says what happened
 * and what to do; a script gets the problem document.
 */
export async function answerConsoleError(error: Error, c: HonoContext<AppEnv>): Promise<Response> {
  const answer = await answerError(error, c);
  if (!c.req.header('Accept')?.includes('text/html')) return answer;
  const problem = await answer.json<ProblemDocument>();
  const retryAfter = answer.headers.get('Retry-After');
  const content = await contentOf(c, problem, retryAfter);
  const page = sendPage(asPage(c), { ...content, isNarrow: true, status: answer.status });
  if (retryAfter !== null) page.headers.set('Retry-After', retryAfter);
  return page;
}

/** The context of a request as pages take it, which may not be signed in. */
export function asPage(c: HonoContext<AppEnv>): ConsoleContext {
  return c as unknown as ConsoleContext;
}

/** The page about a problem: it keeps a form that was refused, or explains the problem. */
async function contentOf(
  c: HonoContext<AppEnv>,
  problem: ProblemDocument,
  retryAfter: string | null,
): Promise<{ title: string; children: Child }> {
  const kept = await readKept(c, problem);
  if (kept) {
    return {
      title: 'Not sent yet',
      children: (
        <SendAgain code={problem.code} kept={kept} url={c.req.url} retryAfter={retryAfter} />
      ),
    };
  }
  return {
    title: titleOf(c, problem),
    children: <Explanation {...problem} retryAfter={retryAfter} way={wayOut(c, problem)} />,
  };
}

/** Titles for people, where the title of the problem is meant for programs. */
const TITLES: Record<string, string> = {
  insufficient_scope: 'You may not do this',
  invalid_request: 'This does not work',
  rate_limited: 'Too many requests',
  unauthorized: 'You are not signed in',
};

function titleOf(c: HonoContext<AppEnv>, { code, title }: ProblemDocument): string {
  if (isStaleSignIn(c, code)) return 'Sign in again';
  return TITLES[code] ?? title;
}

/**
 * Whether the request was refused because the caller, who is signed in, did not sign in recently.
 */
function isStaleSignIn(c: HonoContext<AppEnv>, code: string): boolean {
  return code === 'unauthorized' && asPage(c).var.signedIn !== undefined;
}

interface ProblemDocument {
  title: string;
  detail: string;
  code: string;
  errors?: { path: string; message: string }[];
}

/** A link to where the caller can go on. People who are not signed in go to the sign-in. */
function wayOut(c: HonoContext<AppEnv>, { code }: ProblemDocument): Child {
  if (isStaleSignIn(c, code)) {
    return <LinkButton href={signInAgainPath(pageOfForm(c))} label="Sign in again" />;
  }
  const { signedIn } = asPage(c).var;
  if (signedIn) {
    const { path, name } = firstSection(signedIn.context.principal.scopes);
    if (path === '/console') return <LinkButton href={path} label="Back to the inbox" />;
    return <LinkButton href={path} label={`Go to ${name}`} />;
  }
  // The session was not looked up, but there may be one: the console sends those without one to the
  // sign-in.
  const mayBeSignedIn = sessionCookie(c) !== undefined && code !== 'unauthorized';
  if (mayBeSignedIn) return <LinkButton href="/console" label="Back to the console" />;
  return <LinkButton href="/console/sign-in" label="Sign in" />;
}

/** The path and query of the page whose form was refused; empty if that is not known. */
function pageOfForm(c: HonoContext<AppEnv>): string {
  const page = c.req.header('Referer') ?? '';
  const { publicUrl } = c.var.config;
  if (URL.parse(page)?.origin !== publicUrl) return '';
  return page.slice(publicUrl.length);
}

interface ExplanationProps extends ProblemDocument {
  retryAfter: string | null;
  way: Child;
}

function Explanation({ code, detail, errors, retryAfter, way }: ExplanationProps) {
  return (
    <>
      {code !== 'rate_limited' && !errors && <p>{detail}</p>}
      {errors && <p>Nothing was changed, because the address or the form has mistakes:</p>}
      {errors && (
        <ul class="faults">
          {errors.map(({ path, message }) => (
            <li>
              <strong>{path.replace(/^(body|query)\.?/, '') || 'The form'}</strong> {message}
            </li>
          ))}
        </ul>
      )}
      {Number(retryAfter) > 1 && <p>Try again in {retryAfter} seconds.</p>}
      <p class="actions">{way}</p>
    </>
  );
}

/** The most fields that the page keeps: forms that people fill in have fewer. */
const MAX_KEPT_FIELDS = 200;

/** Fields whose content no page shows. */
const SECRET_FIELDS = ['bot_token', 'signing_secret', 'token'];

/** The problems of which a form is kept. */
const KEEPING = ['unauthorized', 'wrong_credential', 'rate_limited'];

/**
 * The form that was refused because the session had ended or changed, or because of too many
 * requests; null for any other request, and for a form with a secret, which has to be typed again.
 */
async function readKept(c: HonoContext<AppEnv>, { code }: ProblemDocument): Promise<Kept | null> {
  const isForm = c.req.header('Content-Type')?.startsWith('application/x-www-form-urlencoded');
  const isOwn = c.req.header('Origin') === c.var.config.publicUrl;
  if (!isForm || !isOwn || !KEEPING.includes(code)) return null;
  if (code === 'rate_limited' && sessionCookie(c) === undefined) return null;
  const { csrf, sender: mark, ...all } = await c.req.parseBody({ all: true });
  const fields = Object.entries(all).flatMap(([name, value]) =>
    // Browsers send each line break as CR LF.
    [value].flat().map((one): [string, string] => [name, String(one).replaceAll('\r\n', '\n')]),
  );
  if (fields.length > MAX_KEPT_FIELDS) return null;
  if (fields.some(([name, value]) => SECRET_FIELDS.includes(name) && value !== '')) return null;
  const sender = textOf(mark);
  const { signedIn } = asPage(c).var;
  const isForeign =
    signedIn !== undefined &&
    !(await isSenderMark(c.var.config.keyring, signedIn.context.principal, sender));
  return { fields, csrf: textOf(csrf), sender, isForeign, isStale: isStaleSignIn(c, code) };
}

/** A field that occurs once; empty for any other. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
