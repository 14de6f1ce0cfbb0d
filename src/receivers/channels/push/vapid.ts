import { exportJWK, importPKCS8, SignJWT } from 'jose';
import { concatBytes, fromBase64Url, toBase64Url } from '../../../lib/bytes';
import type { Keyring } from '../../../lib/secrets';
import { HOUR, SECOND } from '../../../lib/time';

/** A key pair by which push services recognize this service (RFC 8292 section 2). */
export interface VapidKey {
  /**
   * The point on P-256, uncompressed, in base64url: the `applicationServerKey` of subscriptions.
   */
  publicKey: string;
  privateKey: CryptoKey;
}

/** At least one key, that of the newest root secret first. */
export type VapidKeys = readonly [VapidKey, ...VapidKey[]];

/** The number of points of P-256 (FIPS 186-5): a private key is from 1 to this number less one. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** The DER bytes of a private key on P-256 that precede its 32 bytes (RFC 5208, RFC 5915). */
const PKCS8_PREFIX = Uint8Array.fromHex(
  '3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420',
);

/** Push services accept tokens of up to 24 hours (RFC 8292 section 2). */
const TOKEN_LIFETIME = 12 * HOUR;

/** The keys of this isolate. */
const vapidKeys = new WeakMap<Keyring, VapidKeys>();

/** Derives a key from each root secret, newest first. New subscriptions use the first one. */
export async function deriveVapidKeys(keyring: Keyring): Promise<VapidKeys> {
  const known = vapidKeys.get(keyring);
  if (known) return known;
  const seeds = await keyring.derive('push-vapid');
  const keys = (await Promise.all(seeds.map(makeKey))) as unknown as VapidKeys;
  vapidKeys.set(keyring, keys);
  return keys;
}

async function makeKey(seed: Uint8Array): Promise<VapidKey> {
  const scalar = (BigInt(`0x${seed.toHex()}`) % (ORDER - 1n)) + 1n;
  const bytes = Uint8Array.fromHex(scalar.toString(16).padStart(64, '0'));
  const der = concatBytes(PKCS8_PREFIX, bytes).toBase64();
  const pem = `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----`;
  const privateKey = await importPKCS8(pem, 'ES256', { extractable: true });
  const { x, y } = await exportJWK(privateKey);
  const [left, right] = [fromBase64Url(x ?? ''), fromBase64Url(y ?? '')];
  if (!left || !right) throw new Error('the runtime did not compute the public key');
  return { publicKey: toBase64Url(concatBytes(Uint8Array.of(4), left, right)), privateKey };
}

/**
 * The `Authorization` header of a request to a push service (RFC 8292 section 3).
 * @param now milliseconds since the epoch
 * @param contact the address at which the push service finds whoever runs this service
 */
export async function vapidAuthorization(
  { publicKey, privateKey }: VapidKey,
  { endpoint, contact, now }: { endpoint: string; contact: string; now: number },
): Promise<string> {
  const token = await new SignJWT()
    .setProtectedHeader({ typ: 'JWT', alg: 'ES256' })
    .setAudience(new URL(endpoint).origin)
    .setSubject(contact)
    .setExpirationTime(Math.floor((now + TOKEN_LIFETIME) / SECOND))
    .sign(privateKey);
  return `vapid t=${token}, k=${publicKey}`;
}
