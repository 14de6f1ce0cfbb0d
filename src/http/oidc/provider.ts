import type { JSONWebKeySet, JWK } from 'jose';
import type { OidcConfig, Runtime } from '../../env';
import { findTargetFault } from '../../lib/target';
import { SECOND } from '../../lib/time';

/** Time limit for both requests together, in milliseconds. */
const TIMEOUT = 5 * SECOND;
const MAX_BYTES = 256 * 1024;

/**
 * Fetches the keys of an identity provider. Their URL is in its configuration (OpenID Connect Discovery 1.0 section 4).
 * @throws Error if an answer is missing or invalid
 */
export async function fetchKeys(runtime: Runtime, { issuer }: OidcConfig): Promise<JSONWebKeySet> {
  const signal = runtime.timeout(TIMEOUT);
  const found = await fetchJson(runtime, signal, `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  // Section 4.3: otherwise one provider could impersonate another.
  if (found.issuer !== issuer) throw new Error('the configuration is that of another issuer');
  const { jwks_uri: address } = found;
  if (typeof address !== 'string' || !mayHoldKeys(address, issuer)) throw new Error('jwks_uri is no public https URL');
  const { keys } = await fetchJson(runtime, signal, address);
  if (!Array.isArray(keys)) throw new Error('the key set has no keys');
  // RFC 7517 section 5: members that are not keys are ignored.
  return { keys: keys.filter(isKey) };
}

/** Whether keys may be fetched from an address: from the provider itself, or from a public host. */
function mayHoldKeys(address: string, issuer: string): boolean {
  return URL.parse(address)?.origin === new URL(issuer).origin || findTargetFault(address, false) === null;
}

function isKey(value: unknown): value is JWK {
  return typeof value === 'object' && value !== null && 'kty' in value && typeof value.kty === 'string';
}

async function fetchJson(runtime: Runtime, signal: AbortSignal, url: string): Promise<Record<string, unknown>> {
  const response = await runtime.fetch(url, {
    headers: { Accept: 'application/json' },
    redirect: 'manual',
    signal,
  });
  if (response.status !== 200 || !response.body) throw new Error(`${url} answered ${response.status}`);
  const value: unknown = JSON.parse(await readText(response.body));
  if (typeof value !== 'object' || value === null) throw new Error(`${url} answered no object`);
  return value as Record<string, unknown>;
}

async function readText(body: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error(`the answer is larger than ${MAX_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
