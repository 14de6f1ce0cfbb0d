import type { JSONWebKeySet, JWK } from 'jose';
import type { AuthorizationServer } from 'oauth4webapi';
import type { OidcConfig, Runtime } from '../../env';
import { findTargetFault } from '../../lib/target';
import { SECOND } from '../../lib/time';

/** Time limit for both requests together, in milliseconds. */
const TIMEOUT = 5 * SECOND;
const MAX_BYTES = 256 * 1024;

/**
 * Fetches the keys of an identity provider. Their URL is in its configuration.
 * @throws Error if an answer is missing or invalid
 */
export async function fetchKeys(runtime: Runtime, { issuer }: OidcConfig): Promise<JSONWebKeySet> {
  const signal = runtime.timeout(TIMEOUT);
  const configuration = await fetchConfiguration(runtime, signal, issuer);
  const { keys } = await fetchJson(runtime, signal, readEndpoint(configuration, 'jwks_uri'));
  if (!Array.isArray(keys)) throw new Error('the key set has no keys');
  // RFC 7517 section 5: members that are not keys are ignored.
  return { keys: keys.filter(isKey) };
}

/**
 * Fetches the configuration of an identity provider (OpenID Connect Discovery 1.0 section 4).
 * @throws Error if the answer is missing or invalid
 */
export async function fetchConfiguration(
  runtime: Runtime,
  signal: AbortSignal,
  issuer: string,
): Promise<AuthorizationServer> {
  const found = await fetchJson(
    runtime,
    signal,
    `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
  );
  // Section 4.3: otherwise one provider could impersonate another.
  if (found.issuer !== issuer) throw new Error('the configuration is that of another issuer');
  return { ...found, issuer } as AuthorizationServer;
}

/**
 * The URL of one of the provider's endpoints: on the origin of the provider itself, or on a public
 * host.
 * @throws Error if the configuration does not name it, or names another URL
 */
export function readEndpoint(configuration: AuthorizationServer, name: string): string {
  const endpoint = configuration[name];
  const isOwn =
    typeof endpoint === 'string' &&
    URL.parse(endpoint)?.origin === new URL(configuration.issuer).origin;
  if (typeof endpoint === 'string' && (isOwn || findTargetFault(endpoint, false) === null))
    return endpoint;
  throw new Error(`${name} is no public https URL`);
}

/**
 * Sends a request to an identity provider, and reads the whole answer.
 * @throws Error if there is none, or if it is too large
 */
export async function fetchFromProvider(
  runtime: Runtime,
  url: string,
  options: RequestInit,
): Promise<Response> {
  const { status, headers, body } = await runtime.fetch(url, { ...options, redirect: 'manual' });
  const text = body && (await readText(body));
  const kept = new Headers(headers);
  // The text is decoded.
  kept.delete('Content-Encoding');
  return new Response(text, { status, headers: kept });
}

function isKey(value: unknown): value is JWK {
  return (
    typeof value === 'object' && value !== null && 'kty' in value && typeof value.kty === 'string'
  );
}

async function fetchJson(
  runtime: Runtime,
  signal: AbortSignal,
  url: string,
): Promise<Record<string, unknown>> {
  const response = await fetchFromProvider(runtime, url, {
    headers: { Accept: 'application/json' },
    signal,
  });
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  const value: unknown = JSON.parse(await response.text());
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

/** The name of the identity provider for people: its host. */
export function providerName({ issuer }: Pick<OidcConfig, 'issuer'>): string {
  return new URL(issuer).host;
}
