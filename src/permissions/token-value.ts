import type { Context } from '../http/context';
import { type GrantedToken, type PermissionRow, tokenAt } from './permission';
import { TokenSigner } from './token-signing';

/** The token of a permission, for its own agent and while it is active; undefined otherwise. */
export async function tokenValueFor(context: Context, row: PermissionRow, now: number): Promise<string | undefined> {
  const token = tokenAt(row, now);
  if (context.principal.kind !== 'agent' || token?.status !== 'active') return undefined;
  const signer = await TokenSigner.open(context.config.keyring, context.config.publicUrl);
  return signToken(signer, row, token);
}

/** Signs the token of a permission. */
export function signToken(signer: TokenSigner, row: PermissionRow, token: GrantedToken): Promise<string> {
  const { action, resource } = row;
  const { id: tokenId, scope, issuedAt, expiresAt, keyId } = token;
  const claims = { tokenId, permissionId: row.id, agentId: row.agentId, action, resource, scope, issuedAt, expiresAt };
  return signer.sign(claims, keyId);
}
