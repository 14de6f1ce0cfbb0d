import {
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import type { OidcConfig } from '../../env';
import { logFailure } from '../../lib/log';

/** Asymmetric algorithms only: with a shared secret, everybody who can verify can also sign. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
const FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const MAX_LENGTH = 8_192;
/** OpenID Connect Core 1.0 section 2. */
const MAX_SUBJECT_LENGTH = 255;

/** The claims of a verified JWT. */
export type Claims = JWTPayload & { sub: string; exp: number };

/**
 * Reads the subject of a JWT without verifying it, to look up the account; null for a text that
 * cannot be an access token of the issuer.
 */
export function readSubject(token: string, { issuer }: Pick<OidcConfig, 'issuer'>): string | null {
  if (token.length > MAX_LENGTH || !FORM.test(token)) return null;
  try {
    const { iss, sub } = decodeJwt(token);
    const { alg, typ } = decodeProtectedHeader(token);
    const isPlausible =
      iss === issuer &&
      !isForAnotherUse(typ) &&
      ALGORITHMS.includes(alg ?? '') &&
      typeof sub === 'string' &&
      sub !== '';
    return isPlausible && sub.length <= MAX_SUBJECT_LENGTH && sub.isWellFormed() ? sub : null;
  } catch {
    return null;
  }
}

/**
 * Whether the `typ` of a JWT names another use than an access token, such as `logout+jwt` (RFC 8725
 * section 3.11).
 */
function isForAnotherUse(type: unknown): boolean {
  return (
    typeof type === 'string' && /\+jwt$/i.test(type) && !/^(application\/)?at\+jwt$/i.test(type)
  );
}

/**
 * Verifies a JWT (RFC 7519 section 7.2): signature, issuer, audience and time.
 * @param now milliseconds since the epoch
 * @returns its claims; null if it is not valid; `unknown key` if it names a key that is not among
 *   `keys`
 */
export async function verifyJwt(
  token: string,
  keys: JSONWebKeySet,
  { issuer, audience }: { issuer: string; audience: string },
  now: number,
): Promise<Claims | null | 'unknown key'> {
  try {
    return (await verifyByAny(token, keys, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      currentDate: new Date(now),
      requiredClaims: ['exp', 'sub'],
    })) as Claims;
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return 'unknown key';
    if (error instanceof errors.JOSEError) return null;
    // This runtime cannot import one of the provider's keys.
    logFailure('oidc_key_unusable', error);
    return null;
  }
}

/** Verifies a JWT with the key that it names. If that is ambiguous, any matching key will do. */
async function verifyByAny(
  token: string,
  keys: JSONWebKeySet,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, createLocalJWKSet(keys), options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch {
        // Another key may have signed it.
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}
