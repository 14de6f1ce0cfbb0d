import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import * as z from 'zod';
import type { ProblemCode } from '../errors';
import { writeJson } from '../lib/json';
import { type Prefix, parseId } from '../lib/typeid';
import type { AppEnv, Scope, SentAnswer } from './context';

/** The heading under which the API reference lists an operation. */
export type Tag =
  | 'Operator'
  | 'Account'
  | 'Members'
  | 'Agents'
  | 'Permissions'
  | 'Tokens'
  | 'Policies'
  | 'Audit'
  | 'Webhooks'
  | 'Channels'
  | 'Connections'
  | 'Service';

/** A kind of credential that an operation accepts. A user token or JWT needs all of the scopes. */
export type AllowedCaller =
  | { credential: 'operatorToken' }
  | { credential: 'agentKey' }
  | { credential: 'userToken'; scopes: readonly Scope[] };

/** The response of an operation that succeeds. */
export interface Success<T = unknown> {
  status: 200 | 201 | 202 | 204 | 302;
  /** The schema of the body; null without a body. */
  schema: (() => z.ZodType<T>) | null;
  /** The content type, if the body is not JSON. */
  contentType?: string;
  /** Whether conditional requests are answered 304. */
  revalidates?: boolean;
  /**
   * Whether a repeated creation is answered 200 with the existing resource: see
   * {@link answerExisting}.
   */
  mayExist?: boolean;
  /** Whether range requests are answered 206. */
  hasRanges?: boolean;
  /** Makes the `Location` of a created resource. */
  location?: (path: string, value: T) => string;
}

/**
 * One middleware's part of an operation's description. The OpenAPI document joins the parts of all
 * middlewares of a route (see `docs/document.ts`), so that it cannot differ from what runs.
 */
export interface Description {
  id?: string;
  tag?: Tag;
  summary?: string;
  description?: string;
  success?: Pick<
    Success,
    'status' | 'schema' | 'contentType' | 'revalidates' | 'mayExist' | 'hasRanges'
  >;
  callers?: AllowedCaller[];
  /** The prefixes of the identifier `:id` in the path, if that is the only parameter. */
  pathId?: Prefix | readonly [Prefix, ...Prefix[]];
  /** All parameters in the path, if it has any other than `:id`. */
  path?: () => z.ZodObject;
  query?: () => z.ZodType;
  body?: { schema: () => z.ZodType; mayBeForm: boolean };
  problems?: readonly ProblemCode[];
  /** Whether it ignores the header `Idempotency-Key`. */
  ignoresKey?: boolean | undefined;
}

const DESCRIPTION = Symbol('description of an operation');

/**
 * Attaches a part of an operation's description to the middleware that it describes, and returns
 * the middleware.
 */
export function withDescription<M extends object>(middleware: M, description: Description): M {
  return Object.assign(middleware, { [DESCRIPTION]: description });
}

/** The part of a description that is attached to a middleware; undefined if there is none. */
export function descriptionOf(middleware: object): Description | undefined {
  return (middleware as { [DESCRIPTION]?: Description })[DESCRIPTION];
}

export function ok<T>(schema: () => z.ZodType<T>): Success<T> {
  return { status: 200, schema };
}

/**
 * 201 with the created resource. By default its `Location` is the path of the request, a slash and
 * its id.
 */
export function created<T extends { id: string }>(
  schema: () => z.ZodType<T>,
  location = (path: string, { id }: T) => `${path}/${id}`,
): Success<T> {
  return { status: 201, schema, location };
}

/** 202 for work that continues in the background. */
export function accepted<T>(schema: () => z.ZodType<T>): Success<T> {
  return { status: 202, schema };
}

export function noContent(): Success<null> {
  return { status: 204, schema: null };
}

/** 200 with a file of this content type; 304 if the client has the current version. */
export function file(contentType: string): Success<string> {
  return { status: 200, schema: () => z.string(), contentType, revalidates: true };
}

/** 302 to another path. */
export function redirect(): Success<null> {
  return { status: 302, schema: null };
}

interface OperationDescription<T>
  extends Omit<Description, 'success' | 'callers' | 'query' | 'body'> {
  /** The `operationId`, which generated clients use as the name of the method. */
  id: string;
  tag: Tag;
  summary: string;
  success: Success<T>;
}

/**
 * Makes the first middleware of every route: it describes the operation, adds the route and the
 * identifier in the path to the log, and makes {@link answer} write the response that the operation
 * declares.
 */
export function operation<T>(description: OperationDescription<T>) {
  const { success, pathId, problems = [] } = description;
  const prefixes = pathId === undefined ? [] : [pathId].flat();
  const middleware = createMiddleware<{ Variables: AppEnv['Variables'] & { success: Success<T> } }>(
    async (c, next) => {
      c.set('route', routePath(c));
      const text = c.req.param('id') ?? '';
      if (prefixes.some((prefix) => parseId(prefix, text))) c.set('target', text);
      c.set('success', success);
      c.set('writeAnswer', (value) => writeAnswer(success, c.req.path, value as T));
      await next();
    },
  );
  return withDescription(middleware, {
    ...description,
    problems: pathId ? ['not_found', ...problems] : problems,
  });
}

/** Makes the content of the response that an operation declares from its result. */
export function writeAnswer<T>(
  { status, schema, location }: Success<T>,
  path: string,
  value: T,
): SentAnswer {
  return { status, body: schema && writeJson(value), location: location?.(path, value) ?? null };
}

/** Makes an HTTP response with a JSON body or none. */
export function sendAnswer(
  { status, body, location }: SentAnswer,
  headers: Record<string, string> = {},
): Response {
  return new Response(body, {
    status,
    headers: {
      ...headers,
      ...(body !== null && { 'Content-Type': 'application/json' }),
      ...(location !== null && { Location: location }),
    },
  });
}

/** Makes the HTTP response of an operation from its result. */
export function answer<T>(
  c: { var: { success: Success<T> }; req: { path: string } },
  value: NoInfer<T>,
  headers?: Record<string, string>,
): Response {
  return sendAnswer(writeAnswer(c.var.success, c.req.path, value), headers);
}

/** Makes the HTTP response of a creation whose resource exists already: 200 instead of 201. */
export function answerExisting<T>(
  c: { var: { success: Success<T> }; req: { path: string } },
  value: NoInfer<T>,
): Response {
  return sendAnswer({
    ...writeAnswer(c.var.success, c.req.path, value),
    status: 200,
    location: null,
  });
}
