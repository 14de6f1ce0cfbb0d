import { Hono } from 'hono';
import type { RouterRoute } from 'hono/types';
import { z } from 'zod';
import type { App } from '../http/context';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { describeApi } from './document';
import { home } from './home';
import { reference } from './reference';

const ApiDescription = z.custom<ReturnType<typeof describeApi>>().meta({ override: { type: 'object' } });

/** The description of the service, for programs and for people. */
export function docsRoutes(listRoutes: () => RouterRoute[]) {
  return new Hono<App>()
    .route('/', home)
    .route('/', reference)
    .get(
      '/openapi.json',
      operation({
        id: 'getApiDescription',
        tag: 'Service',
        summary: 'Get this description',
        success: ok(ApiDescription),
      }),
      noQuery(),
      (c) => answer(c, describeApi(listRoutes(), c.var.config.publicUrl)),
    );
}
