import type { Context as HonoContext } from 'hono';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import { Problem } from '../errors';
import { authenticateSession } from '../http/authentication';
import { type AppEnv, type MemberRef, type UserContext, withFixedClock } from '../http/context';
import { limitAccount, limitCredential, limitMember } from '../http/rate-limit';
import { Ledger } from '../ledger/ledger';
import type { Id } from '../lib/typeid';
import { enqueueWebhook } from '../outbox/enqueue';
import { csrfToken, isCsrfToken, sessionCookie } from './session';

/** A member who is signed in to the console. */
export interface SignedIn {
  context: UserContext & { principal: { member: MemberRef } };
  session: { id: Id<'sess'>; createdAt: number };
  /** The CSRF token that changes of the page have to send back. */
  csrf: string;
}

type Access = { Bindings: AppEnv['Bindings']; Variables: AppEnv['Variables'] & { signedIn: SignedIn } };

const METHODS_THAT_READ = ['GET', 'HEAD'];

/** Names the route in the log, and refuses a change that a page of another origin sends. */
export const consoleRoute = createMiddleware<AppEnv>(async (c, next) => {
  c.set('route', routePath(c));
  if (!METHODS_THAT_READ.includes(c.req.method) && c.req.header('Origin') !== c.var.config.publicUrl) {
    throw new Problem('wrong_credential', 'The request does not come from a page of the console.');
  }
  await next();
});

/**
 * Admits members who are signed in, and sets `c.var.signedIn`. A page sends everybody else to the sign-in page; a change is
 * refused, also without the CSRF token of the session.
 */
export function consoleAccess() {
  return createMiddleware<Access>(async (c, next) => {
    const { config, runtime, origin } = c.var;
    const secret = sessionCookie(c);
    if (secret !== undefined) await limitCredential(c, secret);
    const found = secret === undefined ? null : await authenticateSession(c, secret);
    if (!found || secret === undefined) return refuse(c);
    const { principal, reference, database, session } = found;
    const isSafe = METHODS_THAT_READ.includes(c.req.method);
    if (!isSafe && !(await isCsrfToken(config.keyring, secret, await readCsrfToken(c)))) {
      throw new Problem(
        'wrong_credential',
        'The CSRF token is missing or belongs to another session. Load the page again.',
      );
    }
    c.set('database', database);
    c.set('caller', {
      credential: 'session',
      shard: principal.shard,
      account: principal.account.id,
      member: principal.member.id,
    });
    await limitMember(c, principal);
    await limitAccount(c, principal);
    const fixed = withFixedClock(runtime);
    const notifyWebhooks = (account: number) => {
      c.executionCtx.waitUntil(enqueueWebhook(config.webhooks, { shard: principal.shard, account }));
    };
    const ledger = new Ledger(database, { ...reference, now: fixed.now }, null, notifyWebhooks);
    const context = { principal, config, runtime: fixed, origin, reader: database, ledger };
    c.set('signedIn', { context, session, csrf: await csrfToken(config.keyring, secret) });
    c.set('authenticateAgain', async () => {
      if (!(await authenticateSession(c, secret))) throw sessionEnded();
    });
    return next();
  });
}

/** The token of a script is in a header, that of a form in a field. */
async function readCsrfToken(c: HonoContext): Promise<string> {
  const header = c.req.header('X-CSRF-Token');
  if (header !== undefined) return header;
  const isForm = c.req.header('Content-Type')?.startsWith('application/x-www-form-urlencoded');
  const field = isForm ? (await c.req.parseBody()).csrf : undefined;
  return typeof field === 'string' ? field : '';
}

function refuse(c: HonoContext): Response {
  if (METHODS_THAT_READ.includes(c.req.method)) return c.redirect('/console/sign-in');
  throw sessionEnded();
}

function sessionEnded(): Problem {
  return new Problem('unauthorized', 'You are not signed in, or your session has ended. Sign in again.', {
    headers: { 'WWW-Authenticate': 'Cookie' },
  });
}
