import type { Context as HonoContext } from 'hono';
import type { Problem } from '../../errors';
import type { AppEnv } from '../../http/context';
import { problemResponse } from '../../http/problem';
import type { Id } from '../../lib/typeid';

/** Fields that are for one hop (RFC 9110 section 7.6.1). */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** Fields by which another service could rule over this origin. */
const NOT_PASSED_ON = [
  'set-cookie',
  'clear-site-data',
  'strict-transport-security',
  'alt-svc',
  'www-authenticate',
  'nel',
  'report-to',
  'reporting-endpoints',
  'accept-ch',
  'service-worker-allowed',
  'refresh',
  'content-security-policy',
];
/** The encodings that the runtime decodes. */
const DECODED = ['gzip', 'br'];
const NOT_PASSED_ON_PREFIXES = ['access-control-', 'countersign-'];

interface AnswerSettings {
  /** The base URL of the connection. */
  baseUrl: string;
  /** The address of the proxy that stands for the base URL. */
  proxyBase: string;
  /** The texts by which the credential is known. */
  credential: readonly string[];
  /** The permission by which the call was sent; null if a rule allowed it. */
  permission: Id<'perm'> | null;
}

/**
 * Makes the answer of a call from that of the other service, whose body is streamed. Headers that
 * repeat the credential are left out.
 */
export function proxyAnswer(
  response: Response,
  { baseUrl, proxyBase, credential, permission }: AnswerSettings,
): Response {
  const headers = new Headers();
  const named = (response.headers.get('Connection') ?? '').toLowerCase().split(/\s*,\s*/);
  for (const [name, value] of response.headers) {
    const isDropped =
      HOP_BY_HOP.includes(name) ||
      named.includes(name) ||
      repeats(value, credential) ||
      NOT_PASSED_ON.includes(name) ||
      NOT_PASSED_ON_PREFIXES.some((prefix) => name.startsWith(prefix));
    if (!isDropped) headers.append(name, value);
  }
  translateAddresses(headers, response.url, { baseUrl, proxyBase });
  // The runtime has decoded the body, which then has another length.
  if (DECODED.includes((headers.get('Content-Encoding') ?? '').toLowerCase())) {
    headers.delete('Content-Encoding');
    headers.delete('Content-Length');
  }
  headers.set('Content-Security-Policy', 'sandbox');
  headers.set('X-Content-Type-Options', 'nosniff');
  if (permission) headers.set('Countersign-Permission', permission);
  return new Response(response.body, { status: response.status, headers });
}

/** Whether a header holds one of some texts, also percent-encoded. */
function repeats(value: string, texts: readonly string[]): boolean {
  return texts.some((text) => value.includes(text) || value.includes(encodeURIComponent(text)));
}

interface Bases {
  baseUrl: string;
  proxyBase: string;
}

/** Turns the addresses in `Location` and `Link` into those of the proxy, and drops all others. */
function translateAddresses(headers: Headers, url: string, bases: Bases): void {
  const location = headers.get('Location');
  const translated = location === null ? null : translate(location, url, bases);
  headers.delete('Location');
  if (translated !== null) headers.set('Location', translated);
  const links = splitLinks(headers.get('Link') ?? '').flatMap(({ target, rest }) => {
    const address = translate(target, url, bases);
    return address === null ? [] : [`<${address}>${rest}`];
  });
  headers.delete('Link');
  if (links.length > 0) headers.set('Link', links.join(', '));
}

/** The address of the proxy for one below the base URL; null for any other. */
function translate(address: string, url: string, { baseUrl, proxyBase }: Bases): string | null {
  const absolute = URL.parse(address, url || baseUrl);
  const base = new URL(baseUrl);
  if (!absolute || absolute.origin !== base.origin || absolute.username || absolute.password)
    return null;
  const start = base.pathname.replace(/\/$/, '');
  const isBelow = absolute.pathname === start || absolute.pathname.startsWith(`${start}/`);
  if (!isBelow) return null;
  return proxyBase + absolute.pathname.slice(start.length) + absolute.search + absolute.hash;
}

/** Splits a `Link` header (RFC 8288 section 3) into the targets and what follows each. */
function splitLinks(text: string): { target: string; rest: string }[] {
  const parts = text.matchAll(/<([^>]*)>((?:[^,"<]|"(?:[^"\\]|\\.)*")*)/g);
  return [...parts].map(([, target = '', rest = '']) => ({ target, rest: rest.trimEnd() }));
}

/**
 * Makes the answer to a call that the service refused or could not send. It has the members that
 * the SDKs of other services read, and tells them not to try again by themselves.
 */
export async function refusalAnswer(problem: Problem, c: HonoContext<AppEnv>): Promise<Response> {
  const response = problemResponse(problem, c);
  const document: { code: string; detail: string } = await response.json();
  const { code, detail } = document;
  const error = { type: 'countersign_refusal', code, message: detail };
  const { status, headers } = response;
  if (!acceptsProblems(c.req.header('Accept'))) headers.set('Content-Type', 'application/json');
  headers.set('Countersign-Refusal', code);
  forbidRetries(headers);
  return new Response(JSON.stringify({ ...document, message: detail, error }), { status, headers });
}

/** Tells the SDKs that have a header for it not to make the call again by themselves. */
export function forbidRetries(headers: Headers): void {
  headers.set('X-Should-Retry', 'false');
  headers.set('Stripe-Should-Retry', 'false');
}

/**
 * Whether a client accepts a problem document. The SDKs that name only types of their own parse
 * nothing but `application/json`.
 */
function acceptsProblems(accept: string | undefined): boolean {
  if (accept === undefined) return true;
  return /(^|,)\s*(\*\/\*|application\/\*|application\/problem\+json)\s*(;|,|$)/i.test(accept);
}
