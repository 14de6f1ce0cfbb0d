import { digestOf } from '../canonical-json';
import type { Json } from '../world';

/** What of a rule decides a call. */
export interface Rule {
  methods?: string[];
  paths?: string[];
  effect: 'ask' | 'allow' | 'deny';
  [field: string]: unknown;
}

/** A request as the service behind a connection received it. */
export interface Arrived {
  method: string;
  url: string;
  headers: Headers;
  body: Uint8Array<ArrayBuffer> | null;
}

const MAX_INPUT_BYTES = 16 * 1024;

/** What the first rule says about a path; `deny` if there is none. */
export function effectOf(rules: Rule[], method: string, path: string): Rule['effect'] {
  for (const { methods = [method], paths = ['*'], effect } of rules)
    if (methods.includes(method) && paths.some((pattern) => fits(pattern, path))) return effect;
  return 'deny';
}

function fits(pattern: string, path: string): boolean {
  if (pattern === '') return path === '';
  if (pattern[0] !== '*') return pattern[0] === path[0] && fits(pattern.slice(1), path.slice(1));
  for (let taken = 0; taken <= path.length; taken++)
    if (fits(pattern.slice(1), path.slice(taken))) return true;
  return false;
}

/**
 * Every path for which a careless service may take a path: it decodes up to four times, resolves
 * dots, drops parameters and empty segments, takes `\` for `/`, and ends at NUL.
 */
export function readingsOf(path: string): string[] {
  const readings = [path];
  let decoded = path;
  for (let times = 0; times < 4; times++) {
    decoded = decoded.replace(/%([0-9a-f]{2})/gi, (_, code) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
    readings.push(decoded);
  }
  return [...new Set(readings.flatMap((each) => [each, resolve(each)]))];
}

function resolve(path: string): string {
  const [whole = ''] = path.replaceAll('\\', '/').split('\0');
  const kept: string[] = [];
  for (const segment of whole.split('/')) {
    const [name = ''] = segment.split(';');
    if (name === '..') kept.pop();
    else if (name !== '' && name !== '.') kept.push(name);
  }
  return `/${kept.join('/')}`;
}

/**
 * The digest of the input of exactly this request.
 * @param own the headers that the service itself has set
 */
export async function digestOfArrived(
  { method, url, headers, body }: Arrived,
  own: string[],
): Promise<string> {
  const bound: Json = {};
  for (const [name, value] of headers) if (!own.includes(name)) bound[name] = value;
  const isMultipart = bound['content-type']?.startsWith('multipart/form-data');
  if (isMultipart) bound['content-type'] = 'multipart/form-data';
  const json = body === null ? null : await readBody(body, headers.get('Content-Type') ?? '');
  const whole = { method, url, headers: bound, body: json };
  if (sizeOf(whole) <= MAX_INPUT_BYTES) return digestOf(whole);
  const short = isMultipart
    ? { size: sizeOf(json), digest: await digestOf(json) }
    : await sizeAndDigest(body ?? new Uint8Array());
  return digestOf({ ...whole, body: short });
}

function sizeOf(value: Json): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

async function sizeAndDigest(bytes: Uint8Array<ArrayBuffer>): Promise<Json> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const text = hash.toBase64({ alphabet: 'base64url', omitPadding: true });
  return { size: bytes.length, digest: `sha-256:${text}` };
}

/** A body as it stands in an input. */
async function readBody(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<Json> {
  const text = new TextDecoder().decode(bytes);
  if (isJson(type)) return JSON.parse(text);
  if (isForm(type)) {
    const pairs = [...new URLSearchParams(text)];
    const isUnique = new Set(pairs.map(([name]) => name)).size === pairs.length;
    return isUnique ? Object.fromEntries(pairs) : pairs;
  }
  if (!/^multipart\/form-data/i.test(type)) return sizeAndDigest(bytes);
  const form = await new Response(bytes, { headers: { 'Content-Type': type } }).formData();
  return Promise.all(
    [...form].map(async ([name, value]) => {
      if (typeof value === 'string') return { name, value };
      const content = await sizeAndDigest(new Uint8Array(await value.arrayBuffer()));
      return { name, filename: value.name, type: value.type, ...content };
    }),
  );
}

function isJson(type: string): boolean {
  return /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type);
}

function isForm(type: string): boolean {
  return /^application\/x-www-form-urlencoded\s*(;|$)/i.test(type);
}

/** Every amount that any service could read in a request, in its query and its body. */
export async function amountsOf({ url, headers, body }: Arrived): Promise<Json[]> {
  const query = [...new URL(url).searchParams];
  const type = headers.get('Content-Type') ?? '';
  const text = body === null ? '' : new TextDecoder().decode(body);
  const found = query.filter(([name]) => isAmount(name)).map(([, value]) => numberOr(value));
  if (isJson(type)) {
    const json = JSON.parse(text);
    if (typeof json === 'object' && json !== null && Object.hasOwn(json, 'amount'))
      found.push(json.amount);
  } else if (isForm(type)) {
    const pairs = [...new URLSearchParams(text)].filter(([name]) => isAmount(name));
    found.push(...pairs.map(([, value]) => numberOr(value)));
  } else if (/^multipart\/form-data/i.test(type)) {
    const parts = text.matchAll(
      /name="?amount(?:\[[^"]*)?"?[^\r]*\r\n(?:[^\r]+\r\n)*\r\n([^\r]*)/gi,
    );
    found.push(...[...parts].map(([, value = '']) => numberOr(value)));
  }
  return found;
}

function isAmount(name: string): boolean {
  return name === 'amount' || name.startsWith('amount[');
}

function numberOr(text: string): Json {
  return String(Number(text)) === text ? Number(text) : text;
}
