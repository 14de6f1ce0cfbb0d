import { decode } from 'cborg';
import { type Bytes, isSignedBy, joinBytes, toBase64Url } from './verify-bytes';

// Labels of RFC 9052 section 7 and RFC 9053, and the algorithms that the service offers to
// passkeys.
const ALGORITHM = 3;
/** The coordinates of a point on an elliptic curve. */
const X = -2;
const Y = -3;
/** The numbers of an RSA key. */
const MODULUS = -1;
const EXPONENT = -2;
const ES256 = -7;
const EDDSA = -8;
const RS256 = -257;

/**
 * Whether a passkey signed some data.
 * @param publicKey a COSE_Key (RFC 9052 section 7)
 * @throws CannotCheck as {@link isSignedBy}; Error if the key or the signature is malformed
 */
export async function hasSigned(publicKey: Bytes, data: Bytes, signature: Bytes): Promise<boolean> {
  const key = decode(publicKey, { useMaps: true }) as Map<number, unknown>;
  const field = (label: number) => toBase64Url(key.get(label) as Uint8Array);
  const hash = 'SHA-256';
  switch (key.get(ALGORITHM)) {
    case ES256: {
      const jwk = { kty: 'EC', crv: 'P-256', x: field(X), y: field(Y) };
      const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash };
      return isSignedBy(algorithm, { key: jwk, signature: fromDer(signature), data });
    }
    case EDDSA: {
      const jwk = { kty: 'OKP', crv: 'Ed25519', x: field(X) };
      return isSignedBy({ name: 'Ed25519' }, { key: jwk, signature, data });
    }
    case RS256: {
      const jwk = { kty: 'RSA', n: field(MODULUS), e: field(EXPONENT) };
      return isSignedBy({ name: 'RSASSA-PKCS1-v1_5', hash }, { key: jwk, signature, data });
    }
    default:
      throw new Error(`algorithm ${key.get(ALGORITHM)}`);
  }
}

const COORDINATE_LENGTH = 32;

/**
 * An ECDSA signature in the form of WebCrypto, r and s one after the other, from a DER sequence of
 * two integers.
 */
function fromDer(signature: Bytes): Bytes {
  const readInteger = (at: number): [value: Bytes, end: number] => {
    const end = at + 2 + (signature[at + 1] ?? 0);
    const digits = signature.slice(at + 2, end);
    const value = digits.subarray(Math.max(0, digits.length - COORDINATE_LENGTH));
    return [joinBytes(new Uint8Array(COORDINATE_LENGTH - value.length), value), end];
  };
  const [r, end] = readInteger(2);
  const [s] = readInteger(end);
  return joinBytes(r, s);
}
