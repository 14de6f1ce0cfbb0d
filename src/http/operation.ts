import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import * as z from 'zod';
import type { ProblemCode } from '../errors';
import { writeJson } from '../lib/json';
import { type Prefix, parseId } from '../lib/typeid';
import type { App, Scope, SentAnswer } from './context';

/** Under what heading the reference lists an operation. */
export type Tag =
  | 'Operator'
  | 'Account'
  | 'Agents'
  | 'Permissions'
  | 'Tokens'
  | 'Policies'
  | 'Audit'
  | 'Webhooks'
  | 'Service';

/** Who may call an operation, by what credential. A user token needs the scope. */
export type AllowedCaller =
  | { credential: 'operatorToken' }
  | { credential: 'agentKey' }
  | { credential: 'userToken'; scope: Scope };

/** A success: its status, what its body holds, and where a thing that it made is found. */
export interface Success<T = unknown> {
  status: 200 | 201 | 202 | 204 | 302;
  schema: (() => z.ZodType<T>) | null;
  /** What the body is, if not JSON. */
  contentType?: string;
  /** Whether a client that has it already is told so, with 304. */
  revalidates?: boolean;
  /** Whether a part of it can be asked for, which is answered 206. */
  hasRanges?: boolean;
  location?: (path: string, value: T) => string;
}

/**
 * What one middleware says of the operation that it stands in. The parts of a route's middlewares together describe the
 * whole of it (see `docs/document.ts`), so that the description cannot drift from what runs.
 */
export interface Description {
  id?: string;
  tag?: Tag;
  summary?: string;
  description?: string;
  success?: Pick<Success, 'status' | 'schema' | 'contentType' | 'revalidates' | 'hasRanges'>;
  callers?: AllowedCaller[];
  /** The kind of the identifier that `:id` in the path stands for. */
  pathId?: Prefix;
  /** The parameters of a path that has others. */
  path?: () => z.ZodObject;
  query?: () => z.ZodType;
  body?: { schema: () => z.ZodType; mayBeForm: boolean };
  problems?: readonly ProblemCode[];
}

const DESCRIPTION = Symbol('description of an operation');

/** Lets a middleware carry its part of the operation's description. */
export function withDescription<M extends object>(middleware: M, description: Description): M {
  return Object.assign(middleware, { [DESCRIPTION]: description });
}

/** The part that a middleware carries. */
export function descriptionOf(middleware: object): Description | undefined {
  return (middleware as { [DESCRIPTION]?: Description })[DESCRIPTION];
}

/** 200 with a body. */
export function ok<T>(schema: () => z.ZodType<T>): Success<T> {
  return { status: 200, schema };
}

/** 201 with what was made, found at the path that made it and its id. */
export function created<T extends { id: string }>(
  schema: () => z.ZodType<T>,
  location = (path: string, { id }: T) => `${path}/${id}`,
): Success<T> {
  return { status: 201, schema, location };
}

/** 202 for what goes on in the background. */
export function accepted<T>(schema: () => z.ZodType<T>): Success<T> {
  return { status: 202, schema };
}

/** 204 without a body. */
export function noContent(): Success<null> {
  return { status: 204, schema: null };
}

/** 200 with a file, or 304 where the client has it already. */
export function file(contentType: string): Success<string> {
  return { status: 200, schema: () => z.string(), contentType, revalidates: true };
}

/** 302 to another path. */
export function redirect(): Success<null> {
  return { status: 302, schema: null };
}

interface OperationDescription<T> extends Omit<Description, 'success' | 'callers' | 'query' | 'body'> {
  /** The name that generated clients call it by. */
  id: string;
  tag: Tag;
  summary: string;
  success: Success<T>;
}

/** The first middleware of every route: what the operation is, and what it answers when all goes well. */
export function operation<T>(description: OperationDescription<T>) {
  const { success, pathId, problems = [] } = description;
  const middleware = createMiddleware<{ Variables: App['Variables'] & { success: Success<T> } }>(async (c, next) => {
    c.set('route', routePath(c));
    const id = pathId && parseId(pathId, c.req.param('id') ?? '');
    if (id) c.set('target', id);
    c.set('success', success);
    c.set('writeAnswer', (value) => writeAnswer(success, c.req.path, value as T));
    await next();
  });
  return withDescription(middleware, { ...description, problems: pathId ? ['not_found', ...problems] : problems });
}

/** Writes what an operation yields as the answer that it declares. */
export function writeAnswer<T>({ status, schema, location }: Success<T>, path: string, value: T): SentAnswer {
  return { status, body: schema && writeJson(value), location: location?.(path, value) ?? null };
}

/** An answer as an HTTP response. */
export function sendAnswer({ status, body, location }: SentAnswer, headers: Record<string, string> = {}): Response {
  return new Response(body, {
    status,
    headers: {
      ...headers,
      ...(body !== null && { 'Content-Type': 'application/json' }),
      ...(location !== null && { Location: location }),
    },
  });
}

/** Answers with what the operation yields. */
export function answer<T>(
  c: { var: { success: Success<T> }; req: { path: string } },
  value: NoInfer<T>,
  headers?: Record<string, string>,
): Response {
  return sendAnswer(writeAnswer(c.var.success, c.req.path, value), headers);
}
