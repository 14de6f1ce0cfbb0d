import { CompactSign, compactVerify } from 'jose';
import type { JsonObject } from '../../lib/json';
import type { Keyring } from '../../lib/secrets';
import { deriveTokenKeys, type PublicJwk, type SigningKeys } from '../../lib/signing-key';
import { SECOND } from '../../lib/time';
import type { Id } from '../../lib/typeid';

/** The claims of a token: fixed when it is issued, so that signing it again gives the same token. */
export interface TokenClaims {
  tokenId: Id<'token'>;
  permissionId: Id<'perm'>;
  agentId: Id<'agent'>;
  action: string;
  resource: string;
  scope: JsonObject;
  /** Milliseconds since the epoch, whole seconds. */
  issuedAt: number;
  expiresAt: number;
}

/**
 * Matches a JWS in its canonical form (RFC 7515 section 7.1). base64url uses only two bits of the last character of a
 * 64-byte signature, so other last characters would decode to the same signature.
 */
const CANONICAL = /^[\w-]+\.[\w-]+\.[\w-]{85}[AQgw]$/;

/** The signing keys of a deployment, newest first. Their ids are JWK thumbprints (RFC 7638). */
export class TokenSigner {
  private constructor(
    private readonly keys: SigningKeys,
    private readonly issuer: string,
  ) {}

  /** Derives the keys from the root secrets. The issuer is the service's origin; it is also the audience. */
  static async open(keyring: Keyring, issuer: string): Promise<TokenSigner> {
    return new TokenSigner(await deriveTokenKeys(keyring), issuer);
  }

  /** The id of the key that signs new tokens. */
  get newestKeyId(): string {
    return this.keys[0].id;
  }

  /** The public keys, newest first. */
  get publicKeys(): PublicJwk[] {
    return this.keys.map((key) => key.publicJwk);
  }

  /** The payload of a token: RFC 9068 section 2.2, with the authorization details of RFC 9396 section 9.1. */
  payload({ tokenId, agentId, permissionId, action, resource, scope, issuedAt, expiresAt }: TokenClaims) {
    return {
      iss: this.issuer,
      aud: this.issuer,
      sub: agentId,
      client_id: agentId,
      iat: issuedAt / SECOND,
      exp: expiresAt / SECOND,
      jti: tokenId,
      authorization_details: [{ type: 'countersign' as const, action, resource, scope, permission_id: permissionId }],
    };
  }

  /**
   * Signs a token (JWT profile of RFC 9068, EdDSA of RFC 8037). The same claims and key give the same token, byte for
   * byte.
   * @param keyId the key that first signed the token; if it is retired, the newest key signs
   */
  sign(claims: TokenClaims, keyId: string): Promise<string> {
    const key = this.keys.find(({ id }) => id === keyId) ?? this.keys[0];
    return new CompactSign(new TextEncoder().encode(JSON.stringify(this.payload(claims))))
      .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: key.id })
      .sign(key.sign);
  }

  /** Reads the id from a token that this service signed, whatever its status; null for any other text. */
  async readTokenId(token: string): Promise<string | null> {
    if (!CANONICAL.test(token)) return null;
    try {
      const { payload } = await compactVerify(
        token,
        async ({ kid }) => {
          const key = this.keys.find(({ id }) => id === kid);
          if (!key) throw new Error('unknown key');
          return key.publicJwk;
        },
        { algorithms: ['EdDSA'] },
      );
      const { jti } = JSON.parse(new TextDecoder().decode(payload)) as { jti?: unknown };
      return typeof jti === 'string' ? jti : null;
    } catch {
      return null;
    }
  }
}
