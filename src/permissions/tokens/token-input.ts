import type { SQL } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { Problem } from '../../errors';
import type { RequestContext } from '../../http/context';
import { EXAMPLE } from '../../http/examples';
import { plainText } from '../../http/fields';
import type { BodyReader } from '../../http/input';
import { isJsonObject } from '../../lib/json';
import { lazy } from '../../lib/lazy';
import { parseId, withPrefix } from '../../lib/typeid';
import { findPermission } from '../permission';
import { TokenSigner } from './token-signer';

const MAX_TOKEN_LENGTH = 16 * 1024;

/** A token as a client sends it. */
export const tokenText = lazy(() =>
  plainText(MAX_TOKEN_LENGTH)
    .min(1, 'must not be empty')
    .meta({ description: 'The token itself.', examples: [EXAMPLE.token] }),
);

/** A short text that is only compared, never stored. */
export const shortText = lazy(() => plainText(128));

/** The kind of the token (RFC 7009 section 2.1), which is ignored. */
export const tokenTypeHint = lazy(() =>
  shortText().meta({ description: 'Accepted and ignored.', examples: ['access_token'] }),
);

/**
 * Makes the preload of the permission whose token the body names, as `token` or as `token_id`. It loads nothing for an
 * invalid body, which the validation that follows refuses, or for a token that this service did not sign.
 */
export function permissionOfToken(readBody: BodyReader) {
  return async (c: RequestContext, reader: Reader, owner: SQL<number>) => {
    const tokenId = await readTokenId(c, readBody);
    return tokenId && { query: findPermission(reader, owner, withPrefix('perm', tokenId)) };
  };
}

async function readTokenId(c: RequestContext, readBody: BodyReader) {
  const { keyring, publicUrl } = c.var.config;
  let body: unknown;
  try {
    body = await readBody(c);
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
  if (!isJsonObject(body)) return null;
  if (typeof body.token === 'string') {
    if (body.token.length > MAX_TOKEN_LENGTH) return null;
    const signer = await TokenSigner.open(keyring, publicUrl);
    return parseId('token', (await signer.readTokenId(body.token)) ?? '');
  }
  return typeof body.token_id === 'string' ? parseId('token', body.token_id) : null;
}
