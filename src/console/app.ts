import { type Context, Hono } from 'hono';
import { TrieRouter } from 'hono/router/trie-router';
import { Problem } from '../errors';
import type { AppEnv } from '../http/context';
import { refuseOtherMethods } from '../http/method';
import { answerConsoleError } from './frame/error-page';
import { pages } from './pages';

/** The variables of a request that the pages set and the log needs. */
const FOR_THE_LOG = ['route', 'target', 'caller', 'problem', 'database'] as const;

/** The context that the service's own router made for a request. */
const contexts = new WeakMap<Request, Context<AppEnv>>();

const app = new Hono<AppEnv>({ router: new TrieRouter() })
  .use(async (page, next) => {
    const c = contexts.get(page.req.raw) as Context<AppEnv>;
    for (const [name, value] of Object.entries(c.var)) page.set(name as never, value as never);
    await next();
    for (const name of FOR_THE_LOG) c.set(name, page.var[name] as never);
  })
  .use(refuseOtherMethods(pages))
  .route('/', pages)
  .notFound((page) =>
    answerConsoleError(new Problem('not_found', 'There is no page at this address.'), page),
  );

/** Answers a request for a page of the console. */
export function answerPage(c: Context<AppEnv>): Response | Promise<Response> {
  contexts.set(c.req.raw, c);
  return app.fetch(c.req.raw, c.env, c.executionCtx);
}
