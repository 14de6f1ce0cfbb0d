/** How far the timestamp of a webhook may differ from now, in milliseconds. */
const TOLERANCE = 5 * 60_000;

/** The event of a webhook. */
export interface WebhookEvent {
  /** For example `audit.created`. */
  event: string;
  timestamp: string;
  data: unknown;
}

/** The headers of a request, as the runtime gives them. */
export type RequestHeaders = Headers | Record<string, string | string[] | undefined>;

/**
 * Returns the event of a webhook after checking its signature and its age (Standard Webhooks).
 * @param body the body exactly as it was received
 * @param secret `whsec_…`
 * @param now the time, in milliseconds since 1970
 * @throws Error when the signature is wrong or missing, or the timestamp is more than 5 minutes off
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: RequestHeaders,
  secret: string,
  now: number = Date.now(),
): Promise<WebhookEvent> {
  const id = requireHeader(headers, 'webhook-id');
  const timestamp = requireHeader(headers, 'webhook-timestamp');
  const signatures = requireHeader(headers, 'webhook-signature');
  if (!/^\d+$/.test(timestamp) || Math.abs(Number(timestamp) * 1000 - now) > TOLERANCE) {
    throw new Error('The timestamp of the webhook is more than 5 minutes off.');
  }
  const received = new Blob([typeof body === 'string' ? body : new Uint8Array(body)]);
  const key = await importSecret(secret);
  const signed = await new Blob([`${id}.${timestamp}.`, received]).arrayBuffer();
  // While a secret is replaced there is a signature for each.
  for (const signature of signatures.split(' ')) {
    const [, value = ''] = /^v1,([^,]+)/.exec(signature) ?? [];
    const decoded = decodeBase64(value);
    if (decoded && (await crypto.subtle.verify('HMAC', key, decoded, signed)))
      return JSON.parse(await received.text());
  }
  throw new Error('The signature of the webhook is wrong.');
}

function importSecret(secret: string): Promise<CryptoKey> {
  const [, base64 = ''] = /^whsec_(.+)$/s.exec(secret) ?? [];
  const bytes = decodeBase64(base64);
  if (!bytes?.length) throw new TypeError('The secret of a webhook is whsec_ and base64.');
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']);
}

function requireHeader(headers: RequestHeaders, name: string): string {
  const value = readHeader(headers, name);
  if (!value) throw new Error(`The header ${name} is missing.`);
  return value;
}

function readHeader(headers: RequestHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? [];
  return Array.isArray(value) ? value[0] : value;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
