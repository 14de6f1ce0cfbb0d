import { CompactSign, compactVerify } from 'jose';
import type { Config } from '../../env';
import { deriveTokenKeys, type SigningKeys } from '../../lib/signing-key';
import { SECOND } from '../../lib/time';
import type { GrantedToken, PermissionRow } from '../permission';

/**
 * Matches a JWS in its canonical form (RFC 7515 section 7.1). base64url uses only two bits of the
 * last character of a 64-byte signature, so other last characters would decode to the same
 * signature.
 */
const CANONICAL = /^[\w-]+\.[\w-]+\.[\w-]{85}[AQgw]$/;

/** The payload of a token. */
export type TokenClaims = ReturnType<TokenSigner['payload']>;

/** Signs tokens, and recognizes those that the deployment signed. */
export class TokenSigner {
  private constructor(
    private readonly keys: SigningKeys,
    private readonly issuer: string,
  ) {}

  /**
   * Derives the keys from the root secrets. The service's origin is both the issuer and the
   * audience of tokens.
   */
  static async open({
    keyring,
    publicUrl,
  }: Pick<Config, 'keyring' | 'publicUrl'>): Promise<TokenSigner> {
    return new TokenSigner(await deriveTokenKeys(keyring), publicUrl);
  }

  /**
   * The payload of a token: RFC 9068 section 2.2, with the authorization details of RFC 9396
   * section 9.1.
   */
  payload(
    { id: permission_id, agentId, action, resource, inputDigest }: PermissionRow,
    token: GrantedToken,
  ) {
    const act = {
      type: 'countersign' as const,
      action,
      resource,
      scope: token.scope,
      permission_id,
    };
    return {
      iss: this.issuer,
      aud: this.issuer,
      sub: agentId,
      client_id: agentId,
      iat: token.issuedAt / SECOND,
      exp: token.expiresAt / SECOND,
      jti: token.id,
      authorization_details: [
        { ...act, ...(inputDigest !== null && { input_digest: inputDigest }) },
      ],
    };
  }

  /**
   * Signs the token of a permission (JWT profile of RFC 9068, EdDSA of RFC 8037). Signing it again
   * gives the same token, byte for byte, unless its key has been retired: then the newest key
   * signs.
   */
  sign(permission: PermissionRow, token: GrantedToken): Promise<string> {
    const key = this.keys.find(({ id }) => id === token.keyId) ?? this.keys[0];
    const payload = JSON.stringify(this.payload(permission, token));
    return new CompactSign(new TextEncoder().encode(payload))
      .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: key.id })
      .sign(key.sign);
  }

  /**
   * Reads the claims of a token that one of the keys signed, whatever its status; null for any
   * other text.
   */
  async readClaims(token: string): Promise<TokenClaims | null> {
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
      return JSON.parse(new TextDecoder().decode(payload));
    } catch {
      return null;
    }
  }
}
