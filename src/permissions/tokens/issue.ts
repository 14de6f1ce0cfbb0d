import type { Config } from '../../env';
import type { JsonObject } from '../../lib/json';
import { SECOND } from '../../lib/time';
import { TokenSigner } from './token-signer';

/** What an approval grants. */
export interface Grant {
  scope: JsonObject;
  /** Seconds. */
  tokenTtl: number;
  maxUses: number;
}

/** The columns of a permission that its token consists of, as it is issued. */
export async function issueToken({ keyring, publicUrl }: Config, { scope, tokenTtl, maxUses }: Grant, now: number) {
  const signer = await TokenSigner.open(keyring, publicUrl);
  // A JWT counts in whole seconds; cut off, so that the token never outlives what was asked for.
  const issuedAt = Math.floor(now / SECOND) * SECOND;
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
