import type { Context } from '../../http/context';
import type { JsonObject } from '../../lib/json';
import { deriveTokenKeys } from '../../lib/signing-key';
import { SECOND } from '../../lib/time';

/**
 * Makes the columns of a permission from which its token is signed: scope, uses, times and key. The
 * token itself is made by `signActiveTokens` whenever its agent reads it, and is never stored.
 * @param tokenTtl in seconds
 */
export async function newTokenColumns(
  { config, runtime }: Context,
  { scope, tokenTtl, maxUses }: { scope: JsonObject; tokenTtl: number; maxUses: number },
) {
  const [newestKey] = await deriveTokenKeys(config.keyring);
  // A JWT counts whole seconds. Rounded down, so that the token never lives longer than requested.
  const issuedAt = Math.floor(runtime.now() / SECOND) * SECOND;
  return {
    grantedScope: scope,
    tokenStatus: 'active',
    tokenMaxUses: maxUses,
    tokenUses: 0,
    tokenIssuedAt: issuedAt,
    tokenExpiresAt: issuedAt + tokenTtl * SECOND,
    tokenKeyId: newestKey.id,
  } as const;
}
