import type { SQL } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { Problem } from '../../errors';
import type { Principal, RequestContext } from '../../http/context';
import { EXAMPLE } from '../../http/examples';
import { plainText } from '../../http/fields';
import type { BodyReader } from '../../http/input';
import { isJsonObject } from '../../lib/json';
import { lazy } from '../../lib/lazy';
import { parseId, withPrefix } from '../../lib/typeid';
import { findPermission, type PermissionRow } from '../permission';
import { TokenSigner } from './sign';

const MAX_TOKEN_LENGTH = 16 * 1024;

/** A token as a client sends it. */
export const tokenText = lazy(() =>
  plainText(MAX_TOKEN_LENGTH)
    .min(1, 'must not be empty')
    .meta({ description: 'The token itself.', examples: [EXAMPLE.token] }),
);

/** A short text that is compared and never stored. */
export const wordText = lazy(() => plainText(128));

/** What kind of token it is, of the kinds that RFC 7009 registers; not looked at. */
export const tokenTypeHint = lazy(() =>
  wordText().meta({ description: 'Accepted, and not looked at.', examples: ['access_token'] }),
);

/**
 * Makes a preload of the permission whose token the body names, as `token` or as `token_id`. It asks for nothing when
 * there is no such body, or the token is none of ours; the validation of the body, which follows, says what is wrong.
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

/** The permission of the token that was named, if the caller may know of it: an agent knows its own. */
export function knownToken(loaded: PermissionRow[] | undefined, principal: Principal): PermissionRow | null {
  const row = loaded?.[0];
  if (!row || (principal.kind === 'agent' && row.agent !== principal.agent.number)) return null;
  return row;
}
