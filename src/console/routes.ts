import { Hono } from 'hono';
import { sendAsset } from '../http/asset';
import type { AppEnv } from '../http/context';
import { consoleRoute } from './access';
import { invitationRoutes } from './invitation';
import { meRoutes } from './me';
import { oidcRoutes } from './oidc/routes';
import { answerConsoleError } from './page';
import { signInRoutes } from './sign-in';

const ASSET_HEADERS = { 'Cache-Control': 'no-cache' };

/** The console, `/console`: pages for the people of an account. */
export const consoleRoutes = new Hono<AppEnv>()
  .route('/', signInRoutes)
  .route('/', invitationRoutes)
  .route('/', oidcRoutes)
  .route('/', meRoutes)
  .get('/console/assets/:file', consoleRoute, (c) => sendAsset(c, new URL(c.req.url), ASSET_HEADERS))
  .onError(answerConsoleError);
