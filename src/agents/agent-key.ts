import * as z from 'zod';
import type { UserContext } from '../http/context';
import { hashCredential } from '../http/credentials';
import { credentialPattern, displayPrefix, makeCredential } from '../lib/credential';
import { lazy } from '../lib/lazy';

/** An agent API key as the API shows it. */
export const agentKey = lazy(() =>
  z.string().meta({ pattern: credentialPattern('agent'), description: 'The key itself, shown only this once.' }),
);

/** A new agent API key: the key, the prefix that may be shown, and the hash that is stored. */
export interface IssuedKey {
  key: string;
  prefix: string;
  hash: Uint8Array;
}

/** Makes an agent API key for the account's shard. */
export async function issueAgentKey({ principal, runtime, config }: UserContext): Promise<IssuedKey> {
  const key = makeCredential('agent', principal.shard, runtime.random);
  const [hash] = await hashCredential(config.keyring, key);
  return { key, prefix: displayPrefix(key), hash };
}
