import { type Context, Hono } from 'hono';
import { TrieRouter } from 'hono/router/trie-router';
import type { AppEnv } from '../http/context';
import { refuseOtherMethods } from '../http/method';
import { keepVariables } from '../http/request';
import { pages } from './pages';

interface ConsoleEnv extends AppEnv {
  /** With the context that the service's own router made for the request. */
  Bindings: AppEnv['Bindings'] & { parent: Context<AppEnv> };
}

/** The variables that `prepareRequest` has set. */
const PREPARED = ['requestId', 'runtime', 'config', 'cost', 'origin'] as const;

/** The variables of a request that the pages set and the log needs. */
const FOR_THE_LOG = ['route', 'target', 'caller', 'problem', 'database'] as const;

const app = new Hono<ConsoleEnv>({ router: new TrieRouter() })
  .use(async (page, next) => {
    const { parent } = page.env;
    keepVariables(page);
    for (const name of PREPARED) page.set(name, parent.var[name]);
    await next();
    for (const name of FOR_THE_LOG) parent.set(name, page.var[name]);
  })
  .use(refuseOtherMethods(pages))
  .route('/', pages);

/** Answers a request for a page of the console. */
export function answerPage(c: Context<AppEnv>): Response | Promise<Response> {
  return app.fetch(c.req.raw, { ...c.env, parent: c }, c.executionCtx);
}
