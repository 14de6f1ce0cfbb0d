import { Hono } from 'hono';
import type { RouterRoute } from 'hono/types';
import * as z from 'zod';
import type { AppEnv } from '../http/context';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { jsonField } from '../http/response-fields';
import { type LazyOutput, lazy } from '../lib/lazy';
import type { describeApi } from './document';
import { documentationPages } from './pages';

const ApiDescription = lazy(() =>
  jsonField<ReturnType<typeof describeApi>>(
    z
      .looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) })
      .meta({ examples: [{ openapi: '3.1.0', info: {}, paths: {} }] }),
  ),
);

/**
 * The documentation of the service: pages for people, and the OpenAPI document, which the first
 * request generates.
 * @param listRoutes returns all routes of the service, once they are added
 */
export function docsRoutes(listRoutes: () => RouterRoute[]) {
  let description: LazyOutput<typeof ApiDescription> | undefined;
  return new Hono<AppEnv>().route('/', documentationPages).get(
    '/openapi.json',
    operation({
      id: 'getApiDescription',
      tag: 'Service',
      summary: 'Get this description',
      description: 'Pages of any origin may read it.',
      success: ok(ApiDescription),
    }),
    noQuery(),
    async (c) => {
      const { describeApi } = await import('./document');
      description ??= describeApi(listRoutes(), c.var.config.publicUrl);
      return answer(c, description, { 'Cache-Control': 'public, max-age=300' });
    },
  );
}
