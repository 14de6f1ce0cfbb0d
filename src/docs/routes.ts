import { Hono } from 'hono';
import type { RouterRoute } from 'hono/types';
import type { App } from '../http/context';
import { noQuery } from '../http/input';
import { describeApi } from './document';

/** The description of the service. */
export function docsRoutes(listRoutes: () => RouterRoute[]) {
  return new Hono<App>().get('/openapi.json', noQuery(), (c) =>
    c.json(describeApi(listRoutes(), c.var.config.publicUrl)),
  );
}
