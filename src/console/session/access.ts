import type { Context as HonoContext, MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { matchedRoutes } from 'hono/route';
import { METHOD_NAME_ALL } from 'hono/router';
import { Problem } from '../../errors';
import { batchReads } from '../../http/batched-reader';
import type { AppEnv, RequestContext, Scope, UserContext, UserPrincipal } from '../../http/context';
import { callerLogFields, openContext } from '../../http/open-context';
import {
  type LoadedRows,
  type NamedQueries,
  type Preload,
  requestQueries,
} from '../../http/preload';
import { limitAccount, limitCredential, limitMember, limitNetwork } from '../../http/rate-limit';
import { type MemberRole, rolesWith } from '../../identity/roles';
import {
  authenticateSession,
  type SessionAuthentication,
} from '../../identity/sessions/authenticate';
import { requireRecentSignIn } from '../../identity/sessions/recent-sign-in';
import type { Id } from '../../lib/typeid';
import {
  selectWaitingCount,
  type WaitingCount,
  waitingCountText,
} from '../../permissions/count-waiting';
import { readAside } from './aside';
import { clearFlash, type Flash, readFlash } from './flash';
import { limitBody } from './limit-body';
import { isForm, type Once, onceKey, oncePerForm } from './once';
import { signInPath } from './return-path';
import { isCsrfToken, pageMarks, sessionCookie } from './session';

/**
 * Somebody who is signed in to the console. `principal.token` is the user token with which they
 * signed in, and `principal.member` is null if that belongs to the account.
 */
export interface SignedIn {
  context: UserContext;
  /** The session, and when the caller proved who they are, in milliseconds since the epoch. */
  session: { id: Id<'session'>; authenticatedAt: number };
  /** How the pages name the caller and the account. */
  names: { caller: string; account: string };
  /** How many requests wait for the caller, in a few characters; null if none is known to. */
  waiting: string | null;
  /** The stop of the account; null if it is not stopped. */
  stop: SessionAuthentication['stop'];
  /** The CSRF token that changes of the page have to send back. */
  csrf: string;
  /** Marks the forms of the page as those of this person. */
  sender: string;
  /** The key with which a browser subscribes to notifications; null for a user token. */
  pushKey: string | null;
  /** The requests that this browser has set aside. */
  aside: Id<'perm'>[];
  /** The flash message of this page; null if it has none. */
  flash: Flash | null;
}

/** The environment of a page for people who are signed in. */
export interface ConsoleEnv<Q extends NamedQueries = NamedQueries> {
  Bindings: AppEnv['Bindings'];
  Variables: AppEnv['Variables'] & {
    signedIn: SignedIn;
    /** The rows that the preload found. */
    loaded: LoadedRows<Q>;
    /**
     * Authenticates the member again and runs the preload again. It also writes into the account of
     * `signedIn.context` whether it is stopped now.
     */
    reload: () => Promise<LoadedRows<Q>>;
    once: Once;
  };
}

/** The context of the handler of a page. */
export type ConsoleContext<Q extends NamedQueries = NamedQueries> = HonoContext<ConsoleEnv<Q>>;

/** The context of the handler of a page with a preload. */
export type PreloadedContext<P extends (...args: never[]) => Promise<NamedQueries>> =
  ConsoleContext<Awaited<ReturnType<P>>>;

/** The parts of {@link ConsoleContext} that do not depend on what the page preloads. */
export type SignedInRequest = RequestContext & { var: { signedIn: SignedIn } };

const METHODS_THAT_READ = ['GET', 'HEAD'];

function isChange({ req }: RequestContext): boolean {
  return !METHODS_THAT_READ.includes(req.method);
}

/**
 * Middleware of every route of the console. Names the route in the log, and refuses a change that a
 * page of another origin sends, or whose body is too large.
 */
export const consoleRoute = createMiddleware<AppEnv>(async (c, next) => {
  const route = matchedRoutes(c).find(({ method }) => method !== METHOD_NAME_ALL);
  if (!route) return next();
  c.set('route', route.path);
  if (isChange(c)) {
    requireOwnOrigin(c);
    await limitBody(c);
  }
  await next();
});

/** @throws Problem `wrong_credential` if a page of another origin sent the request */
function requireOwnOrigin(c: RequestContext): void {
  if (c.req.header('Origin') === c.var.config.publicUrl) return;
  throw new Problem('wrong_credential', 'The request does not come from a page of the console.');
}

/** The further conditions of a route of the console. */
interface ConsoleRule {
  /**
   * Whether the page changes nothing although a form is sent to it, so that it needs no CSRF token.
   */
  showsOnly?: boolean;
  /**
   * Whether what the request does outlives the session, so that it needs a sign-in within the last
   * 10 minutes.
   */
  needsRecentSignIn?: boolean;
  /** Whether `waiting` is counted also for a script, which otherwise does not show it. */
  countsForScripts?: boolean;
}

/**
 * Admits people who are signed in and have the scopes, by their role and the user token with which
 * they signed in, if it was one. Sets `c.var.signedIn`. A page sends everybody else to the sign-in
 * page, and they come back; a change is refused, also without the CSRF token of the session.
 * @param scopes the scopes that the caller needs, all of them; null for pages that need none
 * @param preload makes queries that run in the same round trip as the authentication
 */
export function consoleAccess<Q extends NamedQueries>(
  scopes: Scope | readonly Scope[] | null,
  preload?: Preload<Q>,
  { showsOnly = false, needsRecentSignIn = false, countsForScripts = false }: ConsoleRule = {},
): MiddlewareHandler<ConsoleEnv<Q>> {
  return createMiddleware<ConsoleEnv<Q>>(async (c, next) => {
    const { keyring } = c.var.config;
    const secret = sessionCookie(c);
    if (secret !== undefined) await limitCredential(c, secret);
    const key = await onceKey(c);
    const counts = (request: RequestContext) => countsForScripts || !isAskedByScript(request);
    const preloadPage: Preload<Q & InboxQueries> = async (c, reader, caller) => ({
      ...((await preload?.(c, reader, caller)) as Q),
      inbox: counts(c) ? selectWaitingCount(reader, caller, c.var.runtime.now()) : null,
    });
    const authenticate = async () => {
      if (secret === undefined) return null;
      const { queries, read } = requestQueries(c, key, preloadPage);
      const found = await authenticateSession(c, secret, { queries, isUse: isByPerson(c) });
      return found && { ...found, ...read(found.loaded) };
    };
    const found = await authenticate();
    if (!found || secret === undefined) return answerSignedOut(c, secret);
    const { principal, session, names, stop, stored, loaded } = found;
    const opened = openContext(c, found, null);
    const context = { ...opened, reader: batchReads(opened.reader) };
    c.set('caller', callerLogFields(found));
    const marks = await pageMarks(keyring, secret, principal);
    const flash = c.req.method === 'GET' ? readFlash(c) : null;
    const aside = readAside(c, marks.sender);
    const waiting = waitingText(principal, loaded.inbox);
    c.set('signedIn', { context, session, names, waiting, stop, aside, flash, ...marks });
    if (isChange(c) && !showsOnly) await requireCsrfToken(c, secret);
    await limitMember(c, principal);
    await limitAccount(c, principal);
    const requireSession = async () => {
      const again = await authenticate();
      if (!again) throw sessionEnded();
      requireScopes(again.principal, scopes);
      principal.account.isStopped = again.principal.account.isStopped;
      return again;
    };
    c.set('authenticateAgain', requireSession);
    c.set('loaded', loaded);
    c.set('reload', async () => (await requireSession()).loaded);
    const readStored = async () => (await requireSession()).stored;
    c.set('once', oncePerForm(c, context, { key, stored, readStored }));
    requireScopes(principal, scopes);
    if (needsRecentSignIn) requireRecentSignIn(c.var.signedIn);
    await next();
    if (flash) clearFlash(c);
  });
}

/** @throws Problem `insufficient_scope`, which says who could give the caller the scopes */
export function requireScopes(
  { member, token, scopes }: UserPrincipal,
  needed: Scope | readonly Scope[] | null,
): void {
  const all = [needed ?? []].flat();
  const missing = all.filter((scope) => !scopes.includes(scope));
  if (missing.length === 0) return;
  const isByRole = member && token === null;
  const detail = isByRole ? lackingRole(member.role, all) : lackingToken(missing);
  throw new Problem('insufficient_scope', detail);
}

/** Says which roles have the scopes that a member's role lacks. */
function lackingRole(role: MemberRole, scopes: readonly Scope[]): string {
  const roles = rolesWith(...scopes).join(', ');
  return `Your role is ${role}. This needs one of the roles ${roles}: an owner or admin of the account can give it to you.`;
}

/** Says which scopes the user token lacks with which somebody signed in. */
function lackingToken(missing: readonly Scope[]): string {
  const [scopes, them] = missing.length === 1 ? ['scope', 'it'] : ['scopes', 'them'];
  return `The user token with which you signed in lacks the ${scopes} ${missing.join(' and ')}. Sign in with one that has ${them}, or with a passkey.`;
}

/** The query of what waits for the caller. */
interface InboxQueries extends NamedQueries {
  inbox: ReturnType<typeof selectWaitingCount> | null;
}

/** How many requests wait for a caller; null for one who may not decide. */
function waitingText({ scopes }: UserPrincipal, [count]: WaitingCount[] = []): SignedIn['waiting'] {
  const mayDecide = DECIDER.every((scope) => scopes.includes(scope));
  return mayDecide && count ? waitingCountText(count) : null;
}

/** @throws Problem `wrong_credential` if the request does not have the CSRF token of the session */
async function requireCsrfToken<Q extends NamedQueries>(
  c: ConsoleContext<Q>,
  secret: string,
): Promise<void> {
  if (await isCsrfToken(c.var.config.keyring, secret, await readCsrfToken(c))) return;
  throw new Problem(
    'wrong_credential',
    'The CSRF token is missing or belongs to another session. Load the page again.',
  );
}

/** The token of a script is in a header, that of a form in a field. */
async function readCsrfToken(c: HonoContext): Promise<string> {
  const header = c.req.header('X-CSRF-Token');
  if (header !== undefined) return header;
  const field = isForm(c.req) ? (await c.req.parseBody()).csrf : undefined;
  return typeof field === 'string' ? field : '';
}

/**
 * Answers a request of somebody who is not signed in: redirects a reader to the sign-in page, from
 * which they come back to the page that they asked for.
 * @param secret the secret of the session cookie, which is no session; undefined without a cookie
 * @throws Problem `unauthorized` for a change and for a script, and for a browser that has just
 *   signed in but does not send the cookie; `rate_limited`
 */
async function answerSignedOut<Q extends NamedQueries>(
  c: ConsoleContext<Q>,
  secret: string | undefined,
): Promise<Response> {
  const hasCookie = secret !== undefined;
  // The cookie or the change may be a guess, so it counts against the network.
  if (hasCookie || isChange(c)) await limitNetwork(c);
  if (isChange(c) || isAskedByScript(c)) throw sessionEnded();
  if (!hasCookie && comesFromSignIn(c)) throw cookieMissing();
  const { pathname, search } = new URL(c.req.url);
  return c.redirect(signInPath(pathname + search));
}

/**
 * Whether the script of a page asks, which can do nothing with the page to sign in: for a part of a
 * page, or for JSON.
 */
function isAskedByScript({ req }: RequestContext): boolean {
  const asksForJson = req.header('Accept')?.startsWith('application/json') ?? false;
  return req.header('HX-Request') === 'true' || req.query('part') !== undefined || asksForJson;
}

/** Whether a person made the request; a page that updates itself goes on while nobody is there. */
function isByPerson(c: RequestContext): boolean {
  return isChange(c) || !isAskedByScript(c);
}

/** The scopes of those for whom requests wait. */
const DECIDER: readonly Scope[] = ['permissions:read', 'permissions:decide'];

/** Pages that sign somebody in. Their links to other pages send no `Referer`. */
const SIGN_IN_PAGES = ['/console/sign-in', '/console/invitations/'];

/** Whether the browser comes from a page that has just signed somebody in. */
function comesFromSignIn({ req, var: { config } }: RequestContext): boolean {
  const { origin, pathname } = URL.parse(req.header('Referer') ?? '') ?? {};
  return origin === config.publicUrl && SIGN_IN_PAGES.some((path) => pathname?.startsWith(path));
}

function sessionEnded(): Problem {
  return new Problem(
    'unauthorized',
    'You are not signed in, or your session has ended. Sign in again.',
    { headers: { 'WWW-Authenticate': 'Cookie' } },
  );
}

function cookieMissing(): Problem {
  return new Problem(
    'unauthorized',
    'Your browser did not send the cookie that identifies you, so you are not signed in. Allow cookies ' +
      'for this address, and sign in again.',
  );
}
