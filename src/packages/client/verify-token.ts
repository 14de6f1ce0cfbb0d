import type { JWTVerifyGetKey } from 'jose';
import type { KeySet } from './api.ts';
import { canonicalJson, digestOf } from './canonical-json.ts';
import type { Limits } from './guard/act.ts';

export interface TokenExpectations {
  /** The service that issued the token: the origin in its `PUBLIC_URL`. */
  issuer: string;
  /**
   * The service's keys; by default they are read from the issuer, and again when a token names an
   * unknown key.
   */
  keys?: KeySet;
  fetch?: typeof fetch;
  /**
   * The act that the token has to allow. A field that is there but undefined is refused: an
   * argument may be missing.
   */
  action?: string;
  resource?: string;
  /** The arguments that the token has to be for. */
  input?: unknown;
  /** The time, in milliseconds since 1970. */
  now?: number;
}

/** The act that a token allows, and its limits. */
export interface VerifiedToken {
  token_id: string;
  permission_id: string;
  agent_id: string;
  action: string;
  resource: string;
  scope: Limits;
  input_digest: string | null;
  issued_at: string;
  expires_at: string;
}

/** The act in the claims of a token. */
interface TokenDetail
  extends Pick<VerifiedToken, 'permission_id' | 'action' | 'resource' | 'scope'> {
  type: string;
  input_digest?: string;
}

/**
 * The claims of a token. Only the service signs with its keys, so a valid signature proves the
 * form.
 */
interface Claims {
  jti: string;
  sub: string;
  iat: number;
  exp: number;
  authorization_details?: TokenDetail[];
}

const remoteKeys = new Map<string, JWTVerifyGetKey>();

/**
 * Returns what a token allows, after checking its signature, issuer, audience and expiry without a
 * call for each token.
 *
 * It checks **neither uses nor revocation**: a token that passes may be used up or revoked. Before
 * an act that must not happen twice, call `useToken`.
 * @throws Error when the token is not valid, or not for the expected action, resource or input
 */
export async function verifyToken(
  token: string,
  expected: TokenExpectations,
): Promise<VerifiedToken> {
  const jose = await import('./jose.ts');
  const { payload } = await jose.jwtVerify<Claims>(token, keysOf(jose, expected), {
    issuer: expected.issuer,
    audience: expected.issuer,
    algorithms: ['EdDSA'],
    typ: 'at+jwt',
    requiredClaims: ['exp', 'iat', 'jti', 'sub'],
    currentDate: new Date(expected.now ?? Date.now()),
  });
  const [detail] = payload.authorization_details ?? [];
  if (detail?.type !== 'countersign') throw new Error('The token is not one of Countersign.');
  const verified = {
    token_id: payload.jti,
    permission_id: detail.permission_id,
    agent_id: payload.sub,
    action: detail.action,
    resource: detail.resource,
    scope: detail.scope,
    input_digest: detail.input_digest ?? null,
    issued_at: new Date(payload.iat * 1000).toISOString(),
    expires_at: new Date(payload.exp * 1000).toISOString(),
  };
  for (const name of ['action', 'resource'] as const) {
    if (Object.hasOwn(expected, name) && expected[name] !== verified[name])
      throw new Error(`The token is for another ${name}.`);
  }
  if (Object.hasOwn(expected, 'input')) {
    const digest = await digestOf(canonicalJson(expected.input));
    if (digest !== verified.input_digest) throw new Error('The token is for another input.');
  }
  return verified;
}

function keysOf(
  jose: typeof import('./jose.ts'),
  { issuer, keys, fetch }: TokenExpectations,
): JWTVerifyGetKey {
  if (keys) return jose.createLocalJWKSet(keys);
  const address = new URL('/.well-known/jwks.json', issuer);
  if (fetch) return jose.createRemoteJWKSet(address, { [jose.customFetch]: fetch });
  const remote = remoteKeys.get(issuer) ?? jose.createRemoteJWKSet(address);
  remoteKeys.set(issuer, remote);
  return remote;
}
