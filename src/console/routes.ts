import { Hono } from 'hono';
import type { AppEnv } from '../http/context';

/**
 * The console, `/console`: pages for the people of an account. The code of the pages is loaded with
 * the first request for one, so that it does not lengthen the Worker's start.
 */
export const consoleRoutes = new Hono<AppEnv>().all('/console/*', async (c) => {
  const { answerPage } = await import('./app');
  return answerPage(c);
});
