import { decode } from 'cborg';
import { concatBytes, toBase64Url } from './bytes.ts';
import {
  importEd25519,
  importSignatureKey,
  type SignatureKey,
  UnsupportedAlgorithm,
} from './signature.ts';

// Labels and values of RFC 9052 section 7 and RFC 9053.
const [KEY_TYPE, ALGORITHM] = [1, 3];
const [CURVE, X, Y] = [-1, -2, -3];
const [MODULUS, EXPONENT] = [-1, -2];
const ES256 = { keyType: 2, algorithm: -7, curve: 1 };
const EDDSA = { keyType: 1, algorithm: -8, curve: 6 };
const RS256 = { keyType: 3, algorithm: -257 };

const COORDINATE_BYTES = 32;
const DER_SEQUENCE = 0x30;
const DER_INTEGER = 0x02;

/**
 * Reads a public key in the form COSE_Key (RFC 9052 section 7), of an algorithm that the service
 * offers to passkeys: ES256, EdDSA with Ed25519, or RS256.
 * @throws SyntaxError for any other bytes
 * @throws UnsupportedAlgorithm
 */
export async function readCoseKey(bytes: Uint8Array): Promise<SignatureKey> {
  try {
    return await readKey(decode(bytes, { useMaps: true, rejectDuplicateMapKeys: true }));
  } catch (error) {
    if (error instanceof UnsupportedAlgorithm) throw error;
    throw new SyntaxError(
      `is not a COSE key of ES256, EdDSA or RS256 (${(error as Error).message})`,
    );
  }
}

async function readKey(key: unknown): Promise<SignatureKey> {
  if (!(key instanceof Map)) throw new SyntaxError('no map');
  const [keyType, algorithm, curve] = [KEY_TYPE, ALGORITHM, CURVE].map((label) => key.get(label));
  const field = (label: number): string => {
    const value = key.get(label);
    if (!(value instanceof Uint8Array)) throw new SyntaxError(`no bytes with the label ${label}`);
    return toBase64Url(value);
  };
  if (keyType === ES256.keyType && algorithm === ES256.algorithm && curve === ES256.curve)
    return await importEs256(field(X), field(Y));
  if (keyType === EDDSA.keyType && algorithm === EDDSA.algorithm && curve === EDDSA.curve)
    return await importEd25519(field(X));
  if (keyType === RS256.keyType && algorithm === RS256.algorithm) {
    const jwk = { kty: 'RSA', n: field(MODULUS), e: field(EXPONENT) };
    return await importSignatureKey({ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, jwk);
  }
  throw new SyntaxError(`key type ${keyType} with algorithm ${algorithm}`);
}

/** Passkeys sign with ECDSA in DER; Web Crypto wants r and s, one after the other. */
async function importEs256(x: string, y: string): Promise<SignatureKey> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const key = await importSignatureKey(algorithm, { kty: 'EC', crv: 'P-256', x, y });
  return {
    hasSigned: async (data, signature) => {
      const numbers = readDerSignature(signature);
      return numbers !== null && (await key.hasSigned(data, numbers));
    },
  };
}

/** Reads r and s from a DER sequence of two integers; null for anything else. */
function readDerSignature(signature: Uint8Array): Uint8Array | null {
  if (signature[0] !== DER_SEQUENCE || signature[1] !== signature.length - 2) return null;
  const rLength = signature[3] ?? 0;
  const r = readDerInteger(signature.subarray(2, 4 + rLength));
  const s = readDerInteger(signature.subarray(4 + rLength));
  return r && s && concatBytes(r, s);
}

/** Reads a positive DER integer, filled up to a coordinate; null for anything else. */
function readDerInteger(bytes: Uint8Array): Uint8Array | null {
  const [tag, length, first = 0, second = 0] = bytes;
  if (tag !== DER_INTEGER || length === 0 || length !== bytes.length - 2) return null;
  const isNegative = first > 0x7f;
  const hasNeedlessZero = first === 0 && length > 1 && second <= 0x7f;
  if (isNegative || hasNeedlessZero) return null;
  const digits = bytes.subarray(first === 0 ? 3 : 2);
  if (digits.length > COORDINATE_BYTES) return null;
  return concatBytes(new Uint8Array(COORDINATE_BYTES - digits.length), digits);
}
