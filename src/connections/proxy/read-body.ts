import { invalidRequest, Problem } from '../../errors';
import { findJsonLosses } from '../../lib/exact-json';
import { type Json, type JsonObject, jsonFault, ownValue, surrogateFault } from '../../lib/json';
import { findExceededLimit } from '../../lib/json-limits';
import { formAsJson, parseForm, valuesIn, writeForm } from './form-fields';

/** Maximum size of the body of a call, in bytes. */
export const MAX_CALL_BYTES = 1024 * 1024;
const JSON_LIMITS = { levels: 64, values: 200_000 };

/** A body as it was parsed, and as it is written again. */
export interface ReadBody {
  /** The bytes that are sent; null for no body. */
  bytes: Uint8Array<ArrayBuffer> | null;
  /** The content type that is sent; null without a body, or if the agent named none. */
  contentType: string | null;
  /** The content type without what differs in equal calls. */
  boundContentType: string | null;
  /** The body as it stands in the input. */
  json: Json;
  /** The values of a field by its dotted name: more than one where it stands twice. */
  valuesOf: (dottedName: string) => Json[];
}

/** The character that the parser of multipart bodies puts in place of bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd';

const NO_VALUES = () => [];
const NO_BODY: ReadBody = {
  bytes: null,
  contentType: null,
  boundContentType: null,
  json: null,
  valuesOf: NO_VALUES,
};

/**
 * Reads the bytes of a call's body.
 * @throws Problem `payload_too_large` over 1 MiB, without reading the rest;
 *   `unsupported_media_type` for an encoded body
 */
export async function readBodyBytes(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  const encoding = request.headers.get('Content-Encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity')
    throw new Problem('unsupported_media_type', 'Send the body without a Content-Encoding.');
  const reader = request.body?.getReader({ mode: 'byob' });
  if (!reader) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  const room = roomFor(request);
  let size = 0;
  for (;;) {
    const { value, done } = await reader.readAtLeast(room, new Uint8Array(room));
    size += value?.byteLength ?? 0;
    if (size > MAX_CALL_BYTES) {
      reader.cancel().catch(() => undefined);
      throw new Problem('payload_too_large', 'A call takes a body of at most 1 MiB.');
    }
    if (value) chunks.push(value);
    if (done || value.byteLength < room) return concatenate(chunks, size);
  }
}

/** The room for a part of a body of unknown length, in bytes. */
const PART = 64 * 1024;

/** The room in which the whole body is read at once, if its length is known, and its end found. */
function roomFor({ headers }: Request): number {
  const length = Number(headers.get('Content-Length') ?? Number.NaN);
  return Number.isInteger(length) && length >= 0 ? Math.min(length, MAX_CALL_BYTES) + 1 : PART;
}

function concatenate(chunks: Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

/**
 * Parses a body by its content type, and writes it again from what was parsed: so what is sent is
 * what rules and people read. A body of another type is sent as it is.
 * @throws Problem `invalid_request`; `unsupported_media_type` for another character set than UTF-8
 */
export async function parseBody(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string | null,
): Promise<ReadBody> {
  if (bytes.length === 0) return NO_BODY;
  const essence = essenceOf(contentType ?? '');
  const isJson = essence === 'application/json' || /^application\/[\w.-]+\+json$/.test(essence);
  const isForm = essence === 'application/x-www-form-urlencoded';
  if (isJson || isForm) {
    requireUtf8(contentType ?? '');
    return isJson ? parseJsonBody(bytes, contentType) : parseFormBody(bytes, contentType);
  }
  if (essence === 'multipart/form-data') return await parseMultipart(bytes, contentType ?? '');
  return {
    bytes,
    contentType,
    boundContentType: contentType,
    json: await digestOfBytes(bytes),
    valuesOf: NO_VALUES,
  };
}

/** The size and the digest of bytes, as they stand in an input in place of them. */
export async function digestOfBytes(bytes: Uint8Array<ArrayBuffer>): Promise<JsonObject> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const text = hash.toBase64({ alphabet: 'base64url', omitPadding: true });
  return { size: bytes.length, digest: `sha-256:${text}` };
}

/** A content type without its parameters. */
function essenceOf(contentType: string): string {
  if (contentType.includes(','))
    throw new Problem('unsupported_media_type', 'Send one Content-Type.');
  return contentType.split(';')[0]?.trim().toLowerCase() ?? '';
}

function requireUtf8(contentType: string): void {
  const charsets = contentType.matchAll(/;\s*charset\s*=\s*"?([^";\s]*)/gi);
  if ([...charsets].every(([, charset = '']) => /^utf-?8$/i.test(charset))) return;
  throw new Problem('unsupported_media_type', 'Send the body in UTF-8.');
}

function parseJsonBody(bytes: Uint8Array<ArrayBuffer>, contentType: string | null): ReadBody {
  const text = decode(bytes);
  if (findExceededLimit(text, JSON_LIMITS)) {
    const { levels, values } = JSON_LIMITS;
    throw invalidBody(`must be at most ${levels} levels deep and hold at most ${values} values`);
  }
  const json = parseJson(text);
  const [loss] = findJsonLosses(text);
  if (loss) {
    const path = ['body', ...loss.path].join('.');
    throw invalidRequest([{ path, message: loss.message }]);
  }
  const fault = jsonFault(json, surrogateFault);
  if (fault) throw invalidBody(fault);
  const written = JSON.stringify(json);
  return {
    bytes: new TextEncoder().encode(written) as Uint8Array<ArrayBuffer>,
    contentType,
    boundContentType: contentType,
    json,
    valuesOf: (dottedName) => {
      let value: Json | undefined = json;
      for (const part of dottedName.split('.')) value = memberOf(value, part);
      return value === undefined ? [] : [value];
    },
  };
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(name) ? value[Number(name)] : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  return ownValue(value, name);
}

function parseFormBody(bytes: Uint8Array<ArrayBuffer>, contentType: string | null): ReadBody {
  const fields = parseForm(decode(bytes), 'body');
  return {
    bytes: new TextEncoder().encode(writeForm(fields)) as Uint8Array<ArrayBuffer>,
    contentType,
    boundContentType: contentType,
    json: formAsJson(fields),
    valuesOf: (dottedName) => valuesIn(fields, dottedName),
  };
}

/**
 * Parses a multipart body into its parts, and writes them again with a boundary of our own. Header
 * lines of a part other than its name, file name and type are left out.
 */
async function parseMultipart(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string,
): Promise<ReadBody> {
  const parts = await readParts(bytes, contentType);
  const form = new FormData();
  const fields: [string, string][] = [];
  const json: Json[] = [];
  for (const [name, value] of parts) {
    const texts = typeof value === 'string' ? [name, value] : [name, value.name, value.type];
    if (texts.join().includes(REPLACEMENT)) throw invalidBody('must have texts in UTF-8');
    if (typeof value === 'string') {
      form.append(name, value);
      fields.push([name, value]);
      json.push({ name, value });
    } else {
      form.append(name, value, value.name);
      const content = await digestOfBytes(new Uint8Array(await value.arrayBuffer()));
      json.push({ name, filename: value.name, type: value.type, ...content });
    }
  }
  return {
    ...(await writeParts(form)),
    boundContentType: 'multipart/form-data',
    json,
    valuesOf: (dottedName) => [...valuesIn(fields, dottedName), ...filesNamed(parts, dottedName)],
  };
}

/** The files of a name: a rule that reads it finds it twice, or finds no text. */
function filesNamed(parts: [string, string | File][], dottedName: string): Json[] {
  const files = parts.filter(([name, value]) => name === dottedName && typeof value !== 'string');
  return files.map(() => null);
}

async function writeParts(form: FormData): Promise<Pick<ReadBody, 'bytes' | 'contentType'>> {
  try {
    const written = new Response(form);
    return {
      contentType: written.headers.get('Content-Type'),
      bytes: new Uint8Array(await written.arrayBuffer()),
    };
  } catch {
    // Such as a name that ends in a backslash.
    throw invalidBody('has a part whose name cannot be written');
  }
}

async function readParts(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string,
): Promise<[string, string | File][]> {
  try {
    const form = await new Response(bytes, { headers: { 'Content-Type': contentType } }).formData();
    return [...form];
  } catch {
    throw invalidBody('is not valid multipart/form-data');
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw invalidBody('is not valid UTF-8');
  }
}

function parseJson(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidBody('is not valid JSON');
  }
}

function invalidBody(message: string): Problem {
  return invalidRequest([{ path: 'body', message }]);
}
