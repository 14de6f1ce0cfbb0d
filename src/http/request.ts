import type { Context as HonoContext, Next } from 'hono';
import { createMiddleware } from 'hono/factory';
import { Cost } from '../db/database';
import { type Env, type Runtime, readConfig } from '../env';
import { Problem } from '../errors';
import { type LogFields, log, logFailure, withLogFields } from '../lib/log';
import { type AppEnv, newId } from './context';
import { problemResponse } from './problem';

/** The values of `X-Request-Id` that are accepted. */
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

const MAX_USER_AGENT_LENGTH = 1_024;

/**
 * Makes the first middleware: it sets the variables of every request (id, runtime, configuration,
 * cost, origin), adds the common response headers, and logs the request in one line. An
 * unconfigured service answers `unavailable`.
 */
export function prepareRequest(runtime: Runtime) {
  const settingsOf = keepByEnv(readConfig);
  return createMiddleware<AppEnv>(async (c, next) => {
    keepVariables(c);
    const given = c.req.header('X-Request-Id') ?? '';
    const requestId = REQUEST_ID.test(given) ? given : newId(runtime, 'req');
    const cost = new Cost();
    const start = runtime.now();
    c.set('requestId', requestId);
    c.set('runtime', runtime);
    c.set('cost', cost);
    c.set('origin', {
      ipAddress: c.req.header('CF-Connecting-IP') ?? '',
      userAgent: (c.req.header('User-Agent') ?? '').slice(0, MAX_USER_AGENT_LENGTH).toWellFormed(),
    });
    await withLogFields({ request_id: requestId }, async () => {
      await answer(c, next, settingsOf(c.env));
      log('request', {
        ...describeRequest(c),
        duration_ms: runtime.now() - start,
        ...cost.fields(),
      });
      c.res.headers.set('X-Request-Id', requestId);
      c.res.headers.set('X-Content-Type-Options', 'nosniff');
      if (!c.res.headers.has('Cache-Control')) c.res.headers.set('Cache-Control', 'no-store');
      if (c.env.EXPOSE_COST === 'on') c.res.headers.set('Server-Timing', cost.toString());
      if (c.var.database)
        c.executionCtx.waitUntil(
          c.var.database.flush().catch((error) => logFailure('last_used_not_recorded', error)),
        );
    });
  });
}

/** Reads the settings of each environment once. An isolate has one; tests have several. */
function keepByEnv<T>(read: (env: Env) => T): (env: Env) => T {
  const kept = new WeakMap<Env, T>();
  return (env) => {
    const settings = kept.get(env) ?? read(env);
    kept.set(env, settings);
    return settings;
  };
}

/**
 * Keeps the variables of a request in one object. Hono makes a new object of all of them each time
 * that `c.var` is read, which a request does some thirty times.
 */
export function keepVariables(c: { get: unknown; set: unknown }): void {
  const variables: Record<string, unknown> = {};
  Object.defineProperty(c, 'var', { value: variables });
  c.get = (name: string) => variables[name];
  c.set = (name: string, value: unknown) => {
    variables[name] = value;
  };
}

async function answer(
  c: HonoContext<AppEnv>,
  next: Next,
  settings: ReturnType<typeof readConfig>,
): Promise<void> {
  if ('config' in settings) {
    c.set('config', settings.config);
    await next();
    return;
  }
  logFailure('misconfigured', settings.faults.join('; '));
  const detail = 'The service is not configured yet. The operator can find the reason in its log.';
  c.res = problemResponse(
    new Problem('unavailable', detail, { headers: { 'Retry-After': '60' } }),
    c,
  );
}

/**
 * The log fields of a request. They contain the route's pattern instead of the path, and the
 * identifier of the resource only if the request succeeded.
 */
function describeRequest(c: HonoContext<AppEnv>): LogFields {
  const { route = null, tool, target, problem, caller } = c.var;
  const { status } = c.res;
  return {
    method: c.req.method,
    route,
    tool,
    target: status < 400 ? target : undefined,
    status,
    code: problem,
    ...caller,
  };
}
