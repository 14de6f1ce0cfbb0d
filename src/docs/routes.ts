import { Hono } from 'hono';
import type { RouterRoute } from 'hono/types';
import type { App } from '../http/context';
import { noQuery } from '../http/input';
import { describeApi } from './document';
import { home } from './home';
import { reference } from './reference';

/** The description of the service, for programs and for people. */
export function docsRoutes(listRoutes: () => RouterRoute[]) {
  return new Hono<App>()
    .route('/', home)
    .route('/', reference)
    .get('/openapi.json', noQuery(), (c) => c.json(describeApi(listRoutes(), c.var.config.publicUrl)));
}
