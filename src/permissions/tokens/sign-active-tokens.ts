import type { Context } from '../../http/context';
import type { Id } from '../../lib/typeid';
import { type PermissionRow, tokenAt } from '../permission';
import { TokenSigner } from './token-signer';

/**
 * Signs the active tokens of the calling agent's permissions, by permission. Signs none for a user,
 * nor while the account is stopped, nor for a permission that a connection made: the connection
 * takes its use itself.
 */
export async function signActiveTokens(
  { principal, config }: Context,
  rows: PermissionRow[],
  now: number,
): Promise<Map<Id<'perm'>, string>> {
  const tokens = new Map<Id<'perm'>, string>();
  if (principal.kind !== 'agent' || principal.account.isStopped) return tokens;
  let signer: TokenSigner | undefined;
  for (const row of rows) {
    const token = tokenAt(row, now);
    if (token?.status !== 'active' || row.connectionId !== null) continue;
    signer ??= await TokenSigner.open(config);
    tokens.set(row.id, await signer.sign(row, token));
  }
  return tokens;
}
