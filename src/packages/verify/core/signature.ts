/** An algorithm with the parameters that it needs to import a key and to verify. */
export interface SignatureAlgorithm {
  name: string;
  namedCurve?: string;
  hash?: string;
}

/** Thrown if Web Crypto here does not know the algorithm of a signature. */
export class UnsupportedAlgorithm extends Error {
  readonly algorithm: string;

  constructor(algorithm: string) {
    super(`signatures with ${algorithm} cannot be checked here`);
    this.algorithm = algorithm;
  }
}

/** A public key that verifies signatures. */
export interface SignatureKey {
  /** Whether the key made a signature of some data. */
  hasSigned(data: Uint8Array, signature: Uint8Array): Promise<boolean>;
}

/**
 * Imports a public key in the form of a JWK.
 * @throws UnsupportedAlgorithm, or DOMException for a malformed key
 */
export async function importSignatureKey(
  algorithm: SignatureAlgorithm,
  jwk: { kty: string; crv?: string; x?: string; y?: string; n?: string; e?: string },
): Promise<SignatureKey> {
  const { subtle } = crypto;
  try {
    const key = await subtle.importKey('jwk', jwk, algorithm, false, ['verify']);
    return {
      hasSigned: (data, signature) =>
        subtle.verify(algorithm, key, new Uint8Array(signature), new Uint8Array(data)),
    };
  } catch (error) {
    if (error instanceof Error && error.name === 'NotSupportedError')
      throw new UnsupportedAlgorithm(algorithm.name);
    throw error;
  }
}

/** Imports an Ed25519 public key of 32 bytes in base64url. */
export function importEd25519(x: string): Promise<SignatureKey> {
  return importSignatureKey({ name: 'Ed25519' }, { kty: 'OKP', crv: 'Ed25519', x });
}
