import { calculateJwkThumbprint, exportJWK, importPKCS8 } from 'jose';
import type { KeyLabel, Keyring } from './secrets';

/** An Ed25519 public key as a JWK (RFC 8037 section 2). */
export interface PublicJwk {
  kty: 'OKP';
  crv: 'Ed25519';
  /** The key, in base64url. */
  x: string;
  kid: string;
  use: 'sig';
  alg: 'EdDSA';
}

/** An Ed25519 key pair (RFC 8032). */
export interface SigningKey {
  id: string;
  /** The private key. */
  sign: CryptoKey;
  publicJwk: PublicJwk;
}

/** At least one key, that of the newest root secret first. */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]];

/** The DER bytes of an Ed25519 private key that precede its 32-byte seed (RFC 8410 section 7). */
const PKCS8_PREFIX = Uint8Array.fromHex('302e020100300506032b657004220420');

/** The signing keys of this isolate. */
const signingKeys = new WeakMap<Keyring, Map<KeyLabel, SigningKeys>>();

/** The keys for tokens. Their ids are JWK thumbprints (RFC 7638). */
export function deriveTokenKeys(keyring: Keyring): Promise<SigningKeys> {
  return deriveKeys(keyring, 'token-signing', '');
}

/** The keys for tree heads. Their ids are `log-` and the JWK thumbprint. */
export function deriveLogKeys(keyring: Keyring): Promise<SigningKeys> {
  return deriveKeys(keyring, 'log-signing', 'log-');
}

async function deriveKeys(keyring: Keyring, label: KeyLabel, prefix: string): Promise<SigningKeys> {
  const known = signingKeys.get(keyring) ?? new Map<KeyLabel, SigningKeys>();
  signingKeys.set(keyring, known);
  const keys = known.get(label) ?? (await makeKeys(keyring, label, prefix));
  known.set(label, keys);
  return keys;
}

async function makeKeys(keyring: Keyring, label: KeyLabel, prefix: string): Promise<SigningKeys> {
  const seeds = await keyring.derive(label);
  return (await Promise.all(seeds.map((seed) => makeKey(seed, prefix)))) as unknown as SigningKeys;
}

async function makeKey(seed: Uint8Array, prefix: string): Promise<SigningKey> {
  const der = new Uint8Array([...PKCS8_PREFIX, ...seed]);
  const pem = `-----BEGIN PRIVATE KEY-----\n${der.toBase64()}\n-----END PRIVATE KEY-----`;
  const sign = await importPKCS8(pem, 'EdDSA', { extractable: true });
  const { kty, crv, x } = await exportJWK(sign);
  const jwk = { kty, crv, x } as Pick<PublicJwk, 'kty' | 'crv' | 'x'>;
  const id = prefix + (await calculateJwkThumbprint(jwk));
  return { id, sign, publicJwk: { ...jwk, kid: id, use: 'sig', alg: 'EdDSA' } };
}
