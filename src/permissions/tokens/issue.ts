import type { Context } from '../../http/context';
import type { JsonObject } from '../../lib/json';
import { SECOND } from '../../lib/time';
import { TokenSigner } from './token-signer';

/** The limits that an approval grants. */
interface Grant {
  scope: JsonObject;
  /** In seconds. */
  tokenTtl: number;
  maxUses: number;
}

/** Makes the columns of a permission that describe its new token. */
export async function issueToken(
  { config, runtime }: Pick<Context, 'config' | 'runtime'>,
  { scope, tokenTtl, maxUses }: Grant,
) {
  const signer = await TokenSigner.open(config.keyring, config.publicUrl);
  // A JWT counts whole seconds. Rounded down, so that the token never lives longer than requested.
  const issuedAt = Math.floor(runtime.now() / SECOND) * SECOND;
  return {
    grantedScope: scope,
    tokenStatus: 'active',
    tokenMaxUses: maxUses,
    tokenUses: 0,
    tokenIssuedAt: issuedAt,
    tokenExpiresAt: issuedAt + tokenTtl * SECOND,
    tokenKeyId: signer.newestKeyId,
  } as const;
}
