import { CONNECTION_METHODS } from '../../db/schema';
import { invalidRequest, Problem } from '../../errors';
import { credentialPattern } from '../../lib/credential';
import { type Json, type JsonObject, jsonSize } from '../../lib/json';
import { digestOf } from '../../permissions/digest';
import { MAX_CONTENT_BYTES } from '../../permissions/preview';
import type { ConnectionRow } from '../connection';
import { parseForm, valuesIn, writeForm } from './form-fields';
import { callKey } from './load-call';
import { digestOfBytes, parseBody, type ReadBody } from './read-body';
import { readPath } from './read-path';

type Method = (typeof CONNECTION_METHODS)[number];

/** A call as it was parsed, and as it is sent on. */
export interface ParsedCall {
  method: Method;
  /** The path below the base URL, as rules match it. */
  path: string;
  /** The address that is called. */
  url: string;
  /** The headers that are sent on, without the credential. */
  headers: Headers;
  /** The body that is sent; null without one. */
  body: Uint8Array<ArrayBuffer> | null;
  /** The idempotency key of the caller; null without one. */
  key: string | null;
  /** The input that the permission binds: method, URL, headers and body. */
  input: JsonObject;
  /** Whether the whole body stands in the input, and not its size and digest. */
  isWholeInput: boolean;
  /**
   * The value of a field of the body or the query, by its dotted name; undefined if there is none.
   * @throws Problem `invalid_request` if it stands twice
   */
  field: (dottedName: string) => Json | undefined;
}

/** The settings of a connection that decide how a call is read. */
type CallSettings = Pick<ConnectionRow, 'baseUrl' | 'forwardHeaders'>;

const AGENT_KEY = new RegExp(credentialPattern('agent').replace(/^\^|\$$/g, ''));
const MAX_KEY_LENGTH = 255;

/**
 * Parses a call. What is sent is written from what was parsed.
 * @param target the path and the query below the address of the proxy
 * @param bytes the body of the request
 * @throws Problem `invalid_request`, `unsupported_media_type`; `payload_too_large` if URL and
 *   headers alone are too large for an input
 */
export async function parseCall(
  request: Request,
  target: string,
  bytes: Uint8Array<ArrayBuffer>,
  { baseUrl, forwardHeaders }: CallSettings,
): Promise<ParsedCall> {
  const method = readMethod(request.method);
  const [rawPath = '', ...rest] = target.split('?');
  const path = readPath(rawPath);
  const query = parseForm(rest.join('?'), 'query');
  const search = query.length === 0 ? '' : `?${writeForm(query)}`;
  const url = new URL(baseUrl.replace(/\/$/, '') + path + search).href;
  const body = await parseBody(bytes, request.headers.get('Content-Type'));
  if (body.bytes !== null && (method === 'GET' || method === 'HEAD'))
    throw invalidRequest([{ path: 'body', message: `must be empty with ${method}` }]);
  const { headers, bound } = readHeaders(request, forwardHeaders, body);
  const whole = { method, url, headers: bound, body: body.json };
  const isWholeInput = jsonSize(whole) <= MAX_CONTENT_BYTES;
  const input = isWholeInput ? whole : { ...whole, body: await shortForm(body) };
  if (jsonSize(input) > MAX_CONTENT_BYTES)
    throw new Problem('payload_too_large', 'The address and the headers of a call are too long.');
  return {
    method,
    path: path === '' ? '/' : path,
    url,
    headers,
    body: body.bytes,
    key: readKey(request),
    input,
    isWholeInput,
    field: (dottedName) => {
      const values = [...body.valuesOf(dottedName), ...valuesIn(query, dottedName)];
      if (values.length < 2) return values[0];
      throw invalidRequest([
        {
          path: dottedName,
          message: 'must occur only once in body and query, because a rule reads it',
        },
      ]);
    },
  };
}

function readMethod(method: string): Method {
  const known = CONNECTION_METHODS.find((each) => each === method);
  if (known) return known;
  throw new Problem(
    'method_not_allowed',
    `Use one of the methods ${CONNECTION_METHODS.join(', ')}.`,
  );
}

function readKey(request: Request): string | null {
  const key = callKey(request);
  if (key === null || (/^[\x21-\x7e]+$/.test(key) && key.length <= MAX_KEY_LENGTH)) return key;
  const message = `must be 1 to ${MAX_KEY_LENGTH} visible ASCII characters`;
  throw invalidRequest([{ path: 'header.Idempotency-Key', message }]);
}

/** The headers that are sent on, and the same as they stand in the input. */
function readHeaders(
  request: Request,
  names: readonly string[],
  { contentType, boundContentType }: ReadBody,
): { headers: Headers; bound: JsonObject } {
  const headers = new Headers();
  const bound: JsonObject = {};
  const set = (name: string, value: string, boundValue = value) => {
    if (AGENT_KEY.test(value))
      throw invalidRequest([{ path: `header.${name}`, message: 'must not hold an agent key' }]);
    headers.set(name, value);
    bound[name] = boundValue;
  };
  for (const name of names.map((each) => each.toLowerCase()).sort()) {
    const value = request.headers.get(name);
    if (value !== null && name !== 'content-type') set(name, value);
  }
  // The type by which the body was read is always sent with it.
  if (contentType !== null) set('content-type', contentType, boundContentType ?? contentType);
  return { headers, bound };
}

/** The fields of the input that stand for a body that is too large. */
async function shortForm({ bytes, boundContentType, json }: ReadBody): Promise<JsonObject> {
  if (!bytes) return {};
  if (boundContentType !== 'multipart/form-data') return await digestOfBytes(bytes);
  // The bytes hold a boundary that is another one each time.
  return { size: jsonSize(json), digest: await digestOf(json) };
}
