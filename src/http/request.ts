import type { Context as HonoContext, Next } from 'hono';
import { createMiddleware } from 'hono/factory';
import { Cost } from '../db/database';
import { type Env, type Runtime, readConfig } from '../env';
import { Problem } from '../errors';
import { type App, newId } from './context';
import { REQUEST_ID } from './headers';
import { problemResponse } from './problem';

const MAX_USER_AGENT_LENGTH = 1_024;

/**
 * Prepares every request (id, settings, cost, origin) and completes every answer (`X-Request-Id`, `Cache-Control`,
 * `Server-Timing`).
 */
export function prepareRequest(runtime: Runtime) {
  return createMiddleware<App>(async (c, next) => {
    const given = c.req.header('X-Request-Id') ?? '';
    const requestId = REQUEST_ID.test(given) ? given : newId(runtime, 'req');
    const cost = new Cost();
    c.set('requestId', requestId);
    c.set('runtime', runtime);
    c.set('cost', cost);
    c.set('origin', {
      ipAddress: c.req.header('CF-Connecting-IP') ?? '',
      userAgent: (c.req.header('User-Agent') ?? '').slice(0, MAX_USER_AGENT_LENGTH).toWellFormed(),
    });
    await answer(c, next, c.env);
    c.res.headers.set('X-Request-Id', requestId);
    c.res.headers.set('X-Content-Type-Options', 'nosniff');
    if (!c.res.headers.has('Cache-Control')) c.res.headers.set('Cache-Control', 'no-store');
    if (c.env.EXPOSE_COST === 'on') c.res.headers.set('Server-Timing', cost.toString());
    if (c.var.database) c.executionCtx.waitUntil(c.var.database.flush().catch(logFlushFailure));
  });
}

async function answer(c: HonoContext<App>, next: Next, env: Env): Promise<void> {
  const settings = readConfig(env);
  if ('config' in settings) {
    c.set('config', settings.config);
    await next();
    return;
  }
  console.error(JSON.stringify({ event: 'misconfigured', faults: settings.faults }));
  const problem = new Problem(
    'unavailable',
    'The service is not configured yet. Its operator finds the reason in its log.',
    {
      headers: { 'Retry-After': '60' },
    },
  );
  c.res = problemResponse(problem, c.var.requestId);
}

function logFlushFailure(error: unknown): void {
  console.error(JSON.stringify({ event: 'activity_note_failed', message: String(error) }));
}
