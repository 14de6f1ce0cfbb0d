import type { SQL } from 'drizzle-orm';
import type { Reader } from '../db/database';
import { Problem } from '../errors';
import type { Incoming, Principal } from '../http/context';
import { readJson } from '../http/input';
import { isJsonObject } from '../lib/json';
import { parseId, withPrefix } from '../lib/typeid';
import { findPermission, type PermissionRow } from './permission';
import { TokenSigner } from './token-signing';

/**
 * A preload of the permission whose token the body names, as `token` or as `token_id`. Asks for nothing when there is
 * no such body, or the token is none of ours; the validation of the body, which follows, says what is wrong with it.
 */
export async function permissionOfToken(c: Incoming, reader: Reader, owner: SQL<number>) {
  const tokenId = await readTokenId(c);
  return tokenId && { query: findPermission(reader, owner, withPrefix('perm', tokenId)) };
}

async function readTokenId(c: Incoming) {
  const { keyring, publicUrl } = c.var.config;
  let body: unknown;
  try {
    body = await readJson(c);
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
  if (!isJsonObject(body)) return null;
  if (typeof body.token === 'string') {
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
