import { Hono } from 'hono';
import type { AppEnv } from '../http/context';
import { noQuery } from '../http/input';
import { operation, redirect } from '../http/operation';

/** Shows those who come without a path what there is. */
export const home = new Hono<AppEnv>().get(
  '/',
  operation({ id: 'showHome', tag: 'Service', summary: 'Go to the reference', success: redirect() }),
  noQuery(),
  (c) => c.redirect('/docs'),
);
