import type { Context } from '../../http/context';
import type { Id } from '../../lib/typeid';
import { type GrantedToken, type PermissionRow, tokenAt } from '../permission';
import { type TokenClaims, TokenSigner } from './token-signer';

/** Signs the active tokens of an agent's permissions; gives nothing to any other caller. */
export async function signActiveTokens(
  { principal, config }: Context,
  rows: PermissionRow[],
  now: number,
): Promise<Map<Id<'perm'>, string>> {
  const tokens = new Map<Id<'perm'>, string>();
  const granted = rows.map((row) => ({ row, token: tokenAt(row, now) }));
  if (principal.kind !== 'agent' || !granted.some(({ token }) => token?.status === 'active')) return tokens;
  const signer = await TokenSigner.open(config.keyring, config.publicUrl);
  for (const { row, token } of granted) {
    if (token?.status !== 'active') continue;
    tokens.set(row.id, await signer.sign(tokenClaims(row, token), token.keyId));
  }
  return tokens;
}

/** The claims of the token of a permission. */
export function tokenClaims(row: PermissionRow, token: GrantedToken): TokenClaims {
  const { action, resource } = row;
  const { id: tokenId, scope, issuedAt, expiresAt } = token;
  return { tokenId, permissionId: row.id, agentId: row.agentId, action, resource, scope, issuedAt, expiresAt };
}
