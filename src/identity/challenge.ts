import { signInChallenges, usedChallenges } from '../db/schema';
import type { Runtime } from '../env';
import type { InternalWriter } from '../ledger/ledger';
import { concatBytes, equalBytes, fromBase64Url, toBase64Url } from '../lib/bytes';
import type { Keyring } from '../lib/secrets';
import { MINUTE } from '../lib/time';

/** Lifetime of a challenge, in milliseconds. */
const CHALLENGE_LIFETIME = 5 * MINUTE;

const RANDOM_LENGTH = 16;
const TIME_LENGTH = 8;
const MAC_LENGTH = 32;

/**
 * A challenge, of WebAuthn or OIDC, that may be answered until a time, in milliseconds since the
 * epoch.
 */
export interface Challenge {
  bytes: Uint8Array;
  expiresAt: number;
}

/**
 * Makes a WebAuthn challenge: random bytes, the time at which it expires, and an HMAC of both for
 * its purpose.
 *
 * Nothing is stored, so that nobody can fill the database with questions. The answer is stored
 * (`sign_in_challenges`, `used_challenges`), which makes a challenge single-use.
 * @param purpose what may be done with the answer, such as to join with one invitation
 */
export async function makeChallenge(
  keyring: Keyring,
  runtime: Runtime,
  purpose: string,
): Promise<string> {
  const content = new Uint8Array(RANDOM_LENGTH + TIME_LENGTH);
  content.set(runtime.random(RANDOM_LENGTH));
  new DataView(content.buffer).setFloat64(RANDOM_LENGTH, runtime.now() + CHALLENGE_LIFETIME);
  const [mac] = await macOf(keyring, purpose, content);
  return toBase64Url(concatBytes(content, mac));
}

/** Reads a challenge that was made for a purpose; null if it was not, or has expired. */
export async function readChallenge(
  keyring: Keyring,
  purpose: string,
  text: string,
  now: number,
): Promise<Challenge | null> {
  const bytes = fromBase64Url(text);
  if (bytes?.length !== RANDOM_LENGTH + TIME_LENGTH + MAC_LENGTH) return null;
  const content = bytes.subarray(0, RANDOM_LENGTH + TIME_LENGTH);
  const macs = await macOf(keyring, purpose, content);
  if (!macs.some((mac) => equalBytes(mac, bytes.subarray(content.length)))) return null;
  const expiresAt = new DataView(bytes.buffer).getFloat64(RANDOM_LENGTH);
  return expiresAt > now ? { bytes, expiresAt } : null;
}

function macOf(keyring: Keyring, purpose: string, content: Uint8Array) {
  return keyring.mac('webauthn-challenge', `${purpose} ${toBase64Url(content)}`);
}

/**
 * Makes the statement that stores that a challenge was answered whose purpose is of one account. It
 * violates the primary key the second time.
 */
export function useChallenge(
  write: Pick<InternalWriter, 'insert'>,
  account: number,
  { bytes, expiresAt }: Challenge,
) {
  return write.insert(usedChallenges).values({ account, challenge: bytes, expiresAt });
}

/**
 * Makes the statement that stores that somebody signed in with a challenge. It violates the primary
 * key the second time.
 */
export function useSignInChallenge(
  write: Pick<InternalWriter, 'insert'>,
  { bytes, expiresAt }: Challenge,
) {
  return write.insert(signInChallenges).values({ challenge: bytes, expiresAt });
}
