import { Hono } from 'hono';
import { Problem } from '../errors';
import type { AppEnv } from '../http/context';
import { refuseOtherMethods } from '../http/method';

/** The variables of a request that the pages set and the log needs. */
const FOR_THE_LOG = ['route', 'target', 'caller', 'problem', 'database'] as const;

/**
 * The console, `/console`: pages for the people of an account. The code of the pages is loaded with the first request
 * for one, so that it does not lengthen the Worker's start.
 */
export const consoleRoutes = new Hono<AppEnv>().all('/console/*', async (c) => {
  const { pages, answerConsoleError } = await import('./pages');
  const app = new Hono<AppEnv>()
    .use(async (page, next) => {
      for (const [name, value] of Object.entries(c.var)) page.set(name as never, value as never);
      await next();
      for (const name of FOR_THE_LOG) c.set(name, page.var[name] as never);
    })
    .use(refuseOtherMethods(pages))
    .route('/', pages)
    .notFound((page) => answerConsoleError(new Problem('not_found', 'There is no page at this address.'), page));
  return app.fetch(c.req.raw, c.env, c.executionCtx);
});
