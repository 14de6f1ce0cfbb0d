import type { SQL } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import type { Config } from '../../env';
import type { RequestContext } from '../../http/context';
import { EXAMPLE } from '../../http/examples';
import { plainText } from '../../http/fields';
import { type BodyReader, readObject } from '../../http/input';
import type { CallerSql } from '../../identity/credentials';
import type { JsonObject } from '../../lib/json';
import { lazy } from '../../lib/lazy';
import { parseId, withPrefix } from '../../lib/typeid';
import { findPermission } from '../find-permission';
import { type TokenClaims, TokenSigner } from './token-signer';

const MAX_TOKEN_LENGTH = 16 * 1024;

export const tokenText = lazy(() =>
  plainText(MAX_TOKEN_LENGTH)
    .min(1, 'must not be empty')
    .meta({ description: 'The token itself.', examples: [EXAMPLE.token] }),
);

/** A text of at most 128 characters, for fields that are compared or ignored but never stored. */
export const shortText = lazy(() => plainText(128));

export const tokenTypeHint = lazy(() =>
  shortText().meta({
    description: 'The kind of the token (RFC 7009). Accepted and ignored.',
    examples: ['access_token'],
  }),
);

/**
 * Returns a preload of the permission whose token is in the body, as `token` or as `token_id`. It
 * loads none for a token that this service did not sign, nor for an invalid body, which the
 * validation refuses later.
 */
export function preloadPermissionOfToken(readBody: BodyReader) {
  return async (c: RequestContext, _: Reader, { account }: CallerSql) => {
    const fields = (await readObject(c, readBody)) ?? {};
    return selectPermissionOfToken(c.var.config, account, fields);
  };
}

/**
 * Makes the query for the permission whose token the fields name, by `token` or by `token_id`; null
 * for a token that this service did not sign, and for fields that are invalid.
 */
export async function selectPermissionOfToken(
  config: Config,
  account: SQL<number>,
  fields: JsonObject,
) {
  const tokenId = await readTokenId(config, fields);
  return { permission: tokenId && findPermission(account, withPrefix('perm', tokenId)) };
}

async function readTokenId(config: Config, { token, token_id }: JsonObject) {
  if (typeof token === 'string') {
    const claims = await readToken(config, token);
    return claims && parseId('token', claims.jti);
  }
  if (typeof token_id !== 'string') return null;
  return parseId('token', token_id);
}

/** The claims of a token; null for a text that this service did not sign. */
export async function readToken(config: Config, token: string): Promise<TokenClaims | null> {
  if (token.length > MAX_TOKEN_LENGTH) return null;
  const signer = await TokenSigner.open(config);
  return signer.readClaims(token);
}
