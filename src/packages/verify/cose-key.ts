import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { decode } from 'cborg';

/** The public key of a passkey. */
export interface PasskeyKey {
  /** Whether the key made a signature of some data. */
  hasSigned(data: Uint8Array, signature: Uint8Array): boolean;
}

// Labels and values of RFC 9052 section 7 and RFC 9053.
const [KEY_TYPE, ALGORITHM] = [1, 3];
const [CURVE, X, Y] = [-1, -2, -3];
const [MODULUS, EXPONENT] = [-1, -2];
const ES256 = { keyType: 2, algorithm: -7, curve: 1 };
const EDDSA = { keyType: 1, algorithm: -8, curve: 6 };
const RS256 = { keyType: 3, algorithm: -257 };

/**
 * Reads a public key in the form COSE_Key (RFC 9052 section 7), of an algorithm that the service
 * offers to passkeys: ES256, EdDSA with Ed25519, or RS256.
 * @throws SyntaxError for any other bytes
 */
export function readCoseKey(bytes: Uint8Array): PasskeyKey {
  try {
    return readKey(decode(bytes, { useMaps: true, rejectDuplicateMapKeys: true }));
  } catch (error) {
    throw new SyntaxError(
      `is not a COSE key of ES256, EdDSA or RS256 (${(error as Error).message})`,
    );
  }
}

function readKey(key: unknown): PasskeyKey {
  if (!(key instanceof Map)) throw new SyntaxError('no map');
  const [keyType, algorithm, curve] = [KEY_TYPE, ALGORITHM, CURVE].map((label) => key.get(label));
  const field = (label: number): string => {
    const value = key.get(label);
    if (!(value instanceof Uint8Array)) throw new SyntaxError(`no bytes with the label ${label}`);
    return Buffer.from(value).toString('base64url');
  };
  if (keyType === ES256.keyType && algorithm === ES256.algorithm && curve === ES256.curve) {
    return signedBy('sha256', importKey({ kty: 'EC', crv: 'P-256', x: field(X), y: field(Y) }));
  }
  if (keyType === EDDSA.keyType && algorithm === EDDSA.algorithm && curve === EDDSA.curve) {
    // Ed25519 hashes the data itself.
    return signedBy(null, importKey({ kty: 'OKP', crv: 'Ed25519', x: field(X) }));
  }
  if (keyType === RS256.keyType && algorithm === RS256.algorithm) {
    return signedBy('sha256', importKey({ kty: 'RSA', n: field(MODULUS), e: field(EXPONENT) }));
  }
  throw new SyntaxError(`key type ${keyType} with algorithm ${algorithm}`);
}

function importKey(key: Record<string, string>): KeyObject {
  return createPublicKey({ key, format: 'jwk' });
}

/** ECDSA signatures are in DER, and RSA signatures in PKCS #1 v1.5: the defaults of `verify`. */
function signedBy(hash: 'sha256' | null, key: KeyObject): PasskeyKey {
  return { hasSigned: (data, signature) => verify(hash, data, key, signature) };
}
