// Bytes, hashes and signatures, for the page that verifies an entry in the browser.

import { CannotCheck } from './verify-finding';

export type Bytes = Uint8Array<ArrayBuffer>;

/** @throws CannotCheck as {@link webCrypto} */
export async function sha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await webCrypto().digest('SHA-256', bytes));
}

/** An algorithm with the parameters that it needs to import a key and to verify. */
export interface SignatureAlgorithm extends Algorithm {
  namedCurve?: string;
  hash?: string;
}

/** A key and what it is said to have signed. */
interface Signed {
  key: JsonWebKey;
  signature: Bytes;
  data: Bytes;
}

/**
 * Whether a key signed some data.
 * @throws CannotCheck if this browser does not know the algorithm, and as {@link webCrypto}
 */
export async function isSignedBy(
  algorithm: SignatureAlgorithm,
  { key, signature, data }: Signed,
): Promise<boolean> {
  const subtle = webCrypto();
  try {
    const imported = await subtle.importKey('jwk', key, algorithm, false, ['verify']);
    return await subtle.verify(algorithm, imported, signature, data);
  } catch (error) {
    if ((error as Error).name !== 'NotSupportedError') throw error;
    throw new CannotCheck(`This browser cannot check signatures with ${algorithm.name}.`);
  }
}

/**
 * @throws CannotCheck if the page has no Web Crypto, because its address is neither https nor this
 *   machine's
 */
function webCrypto(): SubtleCrypto {
  if (crypto.subtle) return crypto.subtle;
  throw new CannotCheck('The browser offers its cryptography to pages at https addresses only.');
}

export function utf8(text: string): Bytes {
  return new TextEncoder().encode(text);
}

export function joinBytes(...parts: ArrayLike<number>[]): Bytes {
  return Uint8Array.from(parts.flatMap((part) => Array.from(part)));
}

export function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

/** @throws Error for a text that is not base64 */
export function fromBase64(text: string): Bytes {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** @throws Error for a text that is not base64url */
export function fromBase64Url(text: string): Bytes {
  return fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'));
}

export function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

/** @throws Error for a text that is not the hexadecimal form of a SHA-256 hash */
export function fromHex(text: string): Bytes {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new Error(`no hash: ${text}`);
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

export function toHex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
