import type { RouterRoute } from 'hono/types';
import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiResponsesObject } from 'zod-openapi';
import { PROBLEMS, type ProblemCode } from '../errors';
import { type Caller, type Description, descriptionOf } from '../http/operation';
import { shownId } from '../http/shown';
import { problemSchema } from './problem-schema';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** What can become of any request. */
const GENERAL_PROBLEMS: ProblemCode[] = ['internal', 'unavailable'];

/**
 * The description of the whole service as an OpenAPI 3.1 document, made of what the middlewares of its routes say.
 * @param routes the router's own list
 * @param origin the service's address
 */
export function describeApi(routes: readonly RouterRoute[], origin: string) {
  const paths: Record<string, Partial<Record<Method, ZodOpenApiOperationObject>>> = {};
  for (const [route, description] of collect(routes)) {
    const [method = '', path = ''] = route.split(' ');
    paths[path.replace(/:(\w+)/g, '{$1}')] ??= {};
    Object.assign(paths[path.replace(/:(\w+)/g, '{$1}')] ?? {}, {
      [method.toLowerCase()]: describeOperation(description),
    });
  }
  return createDocument({
    openapi: '3.1.0',
    info: { title: 'Countersign', version: '1.0.0' },
    servers: [{ url: origin }],
    paths,
  });
}

/** The parts of each route's description, put together. A route without a first part is not described. */
function collect(routes: readonly RouterRoute[]): Map<string, Description> {
  const operations = new Map<string, Description>();
  for (const { method, path, handler } of routes) {
    const part = descriptionOf(handler);
    if (!part || method === 'ALL') continue;
    const route = `${method} ${path}`;
    const before = operations.get(route);
    operations.set(route, { ...before, ...part, problems: [...(before?.problems ?? []), ...(part.problems ?? [])] });
  }
  return operations;
}

function describeOperation({ id, tag, summary, description, ...parts }: Description): ZodOpenApiOperationObject {
  return {
    ...(id && { operationId: id }),
    ...(tag && { tags: [tag] }),
    ...(summary && { summary }),
    ...(description && { description }),
    security: (parts.callers ?? []).map(requirement),
    requestParams: {
      ...(parts.query instanceof z.ZodObject && { query: parts.query }),
      ...(parts.pathId && { path: z.object({ id: shownId(parts.pathId) }) }),
      ...(parts.path && { path: parts.path }),
    },
    ...(parts.body && { requestBody: describeBody(parts.body) }),
    responses: describeResponses(parts),
  };
}

function requirement(caller: Caller): Record<string, string[]> {
  return { [caller.credential]: caller.credential === 'userToken' ? [caller.scope] : [] };
}

function describeBody({ schema, mayBeForm }: NonNullable<Description['body']>) {
  return {
    content: {
      'application/json': { schema },
      ...(mayBeForm && { 'application/x-www-form-urlencoded': { schema } }),
    },
  };
}

function describeResponses({ success, problems = [] }: Description): ZodOpenApiResponsesObject {
  const responses: ZodOpenApiResponsesObject = {};
  if (success) {
    responses[`${success.status}`] = {
      description: 'x',
      ...(success.schema && { content: { [success.contentType ?? 'application/json']: { schema: success.schema } } }),
    };
  }
  const codes = [...new Set([...problems, ...GENERAL_PROBLEMS])];
  for (const [status, some] of Object.entries(Object.groupBy(codes, (code) => PROBLEMS[code].status))) {
    responses[status as '400'] = {
      description: some.map((code) => PROBLEMS[code].title).join(', or '),
      content: { 'application/problem+json': { schema: problemSchema(some) } },
    };
  }
  return responses;
}
