import { zValidator } from '@hono/zod-validator';
import * as z from 'zod';
import { type FieldError, invalidRequest, Problem } from '../errors';
import { findJsonLosses } from '../lib/exact-json';
import { isJsonObject, type JsonObject } from '../lib/json';
import { findExceededLimit } from '../lib/json-limits';
import { lazy } from '../lib/lazy';
import type { RequestContext } from './context';
import { withDescription } from './operation';

export const MAX_BODY_BYTES = 1024 * 1024;
/**
 * Limits of a JSON body, checked before it is parsed, so that no later step overflows the stack or
 * looks at too many values. Valid bodies stay below the number of values: input and preview of a
 * request have at most 16 KiB each, which is 8,190 values each.
 */
export const BODY_LIMITS = { levels: 64, values: 20_000 };
export const MAX_FORM_PARAMETERS = 100;
/** Cloudflare's own limit for a URL. */
export const MAX_QUERY_CHARACTERS = 16 * 1024;
/** Maximum number of errors in an answer. */
const MAX_ERRORS = 50;
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(;.*)?$/i;
const BODY_PROBLEMS = ['invalid_request', 'payload_too_large', 'unsupported_media_type'] as const;
const JSON_TYPE = /^application\/json\s*(;.*)?$/i;

/**
 * Validates the JSON body of a request; `c.req.valid('json')` returns what the schema made of it.
 * An absent body counts as `{}`.
 * @throws Problem 413, 415, or 400 with the invalid fields
 */
export function body<S extends z.ZodType>(schema: () => S) {
  return withDescription(bodyReadBy(readJson, schema), {
    body: { schema, mayBeForm: false },
    problems: BODY_PROBLEMS,
  });
}

/**
 * The same for the OAuth endpoints, whose bodies may also be forms. Every form parameter is a
 * string.
 */
export function oauthBody<S extends z.ZodType>(schema: () => S) {
  return withDescription(bodyReadBy(readJsonOrForm, schema), {
    body: { schema, mayBeForm: true },
    problems: BODY_PROBLEMS,
  });
}

function bodyReadBy<S extends z.ZodType>(read: BodyReader, schema: () => S) {
  const validator = lazy(() => zValidator('json', schema(), refuseInvalid('body', schema())));
  const middleware: ReturnType<typeof validator> = async (c, next) => {
    await read(c);
    return validator()(c, next);
  };
  return middleware;
}

/**
 * Validates the query string; `c.req.valid('query')` returns what the schema made of it.
 * @throws Problem 400 with the invalid parameters
 */
export function query<S extends z.ZodType>(schema: () => S) {
  const validator = lazy(() => zValidator('query', schema(), refuseInvalid('query', schema())));
  const middleware: ReturnType<typeof validator> = (c, next) => {
    checkQueryString(c.req.url);
    return validator()(c, next);
  };
  return withDescription(middleware, { query: schema, problems: ['invalid_request'] });
}

/**
 * Reads the query string for a preload, before it is validated. Returns null if it is invalid; the
 * validation refuses it later.
 */
export function readQuery<S extends z.ZodType>(c: RequestReader, schema: S): z.output<S> | null {
  const parameters = Object.entries(c.req.queries()).map(([name, values]) => {
    if (values.length === 1) return [name, values[0]];
    return [name, values];
  });
  return schema.safeParse(Object.fromEntries(parameters)).data ?? null;
}

/**
 * Refuses a query string that is too long, or that has a parameter without a name, which Hono
 * ignores.
 */
function checkQueryString(url: string): void {
  // Parsing takes time, and most requests have no query.
  if (!url.includes('?')) return;
  const { search, searchParams } = new URL(url);
  if (search.length > MAX_QUERY_CHARACTERS) {
    throw invalidRequest([
      { path: 'query', message: `must be at most ${MAX_QUERY_CHARACTERS} characters long` },
    ]);
  }
  if (searchParams.has('')) throw invalidRequest([{ path: 'query.', message: 'must have a name' }]);
}

const noParameters = lazy(() => z.strictObject({}));

/** Refuses every query parameter. */
export function noQuery() {
  return query(noParameters);
}

/** Refuses an object without fields, because an update that changes nothing is a mistake. */
export function atLeastOneField<S extends z.ZodType<object>>(schema: S) {
  return schema
    .refine((value) => Object.keys(value).length > 0, {
      error: 'must set at least one field',
      when: ({ issues }) => issues.length === 0,
    })
    .meta({ minProperties: 1 });
}

type RequestReader = Pick<RequestContext, 'req'>;

/** Reads and parses a request's body. */
export type BodyReader = (c: RequestReader) => Promise<unknown>;

/**
 * Reads the body as JSON. Later calls return an equal value or fail with the same error.
 * @throws Problem 413 over 1 MiB; 415 for another content type; 400 for bytes that are not UTF-8,
 *   text that is not JSON, a number that a double would round, a name that an object has twice, or
 *   a body that exceeds {@link BODY_LIMITS}
 */
export const readJson: BodyReader = (c) => readOnce(c, readJsonText);

/**
 * Reads a body for a preload, before it is validated. Returns null if it cannot be read or is no
 * JSON object; the validation refuses it later.
 */
export async function readObject(c: RequestReader, read: BodyReader): Promise<JsonObject | null> {
  try {
    const body = await read(c);
    if (isJsonObject(body)) return body;
    return null;
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
}

/**
 * Reads the body as JSON or, by its content type, as a form, which RFC 7009 and RFC 7662 require
 * (section 2.1 of each).
 * @throws Problem as {@link readJson}; 400 for more than 100 parameters, or one that occurs twice
 */
export const readJsonOrForm: BodyReader = (c) =>
  readOnce(c, async () => {
    if (!FORM_TYPE.test(c.req.header('Content-Type') ?? '')) return readJsonText(c);
    const text = JSON.stringify(parseForm(await readText(c.req.raw)));
    // The rest of the code handles the request like one whose body is JSON.
    const headers = new Headers(c.req.raw.headers);
    headers.set('Content-Type', 'application/json');
    c.req.raw = new Request(c.req.raw.url, { method: c.req.method, headers });
    return text;
  });

function parseForm(text: string): Record<string, string> {
  const parts = text.split('&', MAX_FORM_PARAMETERS + 1);
  if (parts.length > MAX_FORM_PARAMETERS) {
    throw invalidRequest([
      { path: 'body', message: `must have at most ${MAX_FORM_PARAMETERS} parameters` },
    ]);
  }
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name))
      throw invalidRequest([{ path: `body.${name}`, message: 'must be given once' }]);
    fields.set(name, value);
  }
  return Object.fromEntries(fields);
}

/**
 * The text of a JSON body, not parsed; `{}` for an absent one. After {@link readJsonOrForm} has
 * read a form, the form's parameters as the text of a JSON object.
 * @throws Problem as {@link readJson}, except that text that is not JSON is returned
 */
export function readBodyText(c: RequestReader): Promise<string> {
  return textOnce(c, readJsonText);
}

function textOnce(c: RequestReader, read: (c: RequestReader) => Promise<string>): Promise<string> {
  // Hono caches the promise. A failure is cached too, because the body can be read only once.
  c.req.bodyCache.text ??= read(c) as unknown as string;
  return c.req.text();
}

async function readOnce(
  c: RequestReader,
  read: (c: RequestReader) => Promise<string>,
): Promise<unknown> {
  const text = await textOnce(c, read);
  const value = parseJson(text);
  const [loss] = findJsonLosses(text);
  if (loss)
    throw invalidRequest([{ path: ['body', ...loss.path].join('.'), message: loss.message }]);
  return value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreadableBody('is not valid JSON');
  }
}

function unreadableBody(message: string): Problem {
  return new Problem('invalid_request', `The body ${message}.`, {
    errors: [{ path: 'body', message }],
  });
}

async function readJsonText(c: RequestReader): Promise<string> {
  const text = await readText(c.req.raw);
  if (text === '') return '{}';
  if (!JSON_TYPE.test(c.req.header('Content-Type') ?? '')) {
    throw new Problem(
      'unsupported_media_type',
      'Send the body as JSON, with `Content-Type: application/json`.',
    );
  }
  refuseExcess(text);
  return text;
}

function refuseExcess(text: string): void {
  const excess = findExceededLimit(text, BODY_LIMITS);
  if (!excess) return;
  const path = excess.member === null ? 'body' : `body.${excess.member}`;
  throw invalidRequest([{ path, message: EXCESSES[excess.limit] }]);
}

const EXCESSES = {
  levels: `must be at most ${BODY_LIMITS.levels} levels deep`,
  values: `must hold at most ${BODY_LIMITS.values} values`,
};

/**
 * The text of a request's body. It can be read once.
 * @param maximum in bytes; 1 MiB by default
 * @throws Problem 413 over the maximum, without reading the rest; 400 for bytes that are not UTF-8
 */
export async function readText(request: Request, maximum = MAX_BODY_BYTES): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
  let text = '';
  let size = 0;
  try {
    for await (const chunk of request.body ?? []) {
      size += chunk.byteLength;
      if (size > maximum) throw tooLarge(maximum);
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw unreadableBody('is not valid UTF-8');
  }
}

function tooLarge(maximum: number): Problem {
  const text = maximum === MAX_BODY_BYTES ? '1 MiB' : `${maximum / 1024} KiB`;
  return new Problem(
    'payload_too_large',
    `Send at most ${text} (${maximum.toLocaleString('en')} bytes).`,
  );
}

const EXPECTED: Record<string, string> = {
  string: 'must be text',
  number: 'must be a number',
  int: 'must be a whole number',
  boolean: 'must be true or false',
  array: 'must be a list',
  object: 'must be a JSON object',
};

// Zod's default messages name its own types. These say what to send instead, where a schema has no
// message of its own.
z.config({
  customError: (issue) => {
    if (issue.code !== 'invalid_type') return undefined;
    if (issue.input === undefined) return 'is required';
    return EXPECTED[issue.expected];
  },
});

type Place = 'body' | 'query';

function refuseInvalid(place: Place, schema: z.ZodType) {
  return (result: { success: boolean; error?: z.core.$ZodError }): undefined => {
    if (!result.success && result.error) throw invalidFields(place, schema, result.error);
  };
}

function invalidFields(place: Place, schema: z.ZodType, { issues }: z.core.$ZodError): Problem {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape).join(', ') : '';
  const errors = issues.slice(0, MAX_ERRORS).flatMap((issue) => fieldErrors(place, known, issue));
  return invalidRequest(errors.slice(0, MAX_ERRORS));
}

/**
 * Validates fields that are a part of a body, such as the arguments of a tool, as {@link body}
 * validates a whole one.
 * @throws Problem 400 with the invalid fields
 */
export function parseFields<S extends z.ZodType>(schema: S, fields: unknown): z.output<S> {
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  throw invalidFields('body', schema, result.error);
}

const NOUNS = { body: 'field', query: 'parameter' };

function fieldErrors(place: Place, known: string, issue: z.core.$ZodIssue): FieldError[] {
  const path = [place, ...issue.path.map(String)].join('.');
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
  const noun = NOUNS[place];
  const message = `is not a ${noun} of this endpoint, which takes ${known || `no ${noun}s`}`;
  return issue.keys.slice(0, MAX_ERRORS).map((key) => ({ path: `${path}.${key}`, message }));
}

/** The body of an operation that takes no fields. */
export const NoFields = lazy(() => z.strictObject({}).meta({ id: 'NoFields', examples: [{}] }));
