import * as z from 'zod';
import type { UserContext } from '../http/context';
import { credentialPattern, displayPrefix, makeCredential } from '../lib/credential';
import { lazy } from '../lib/lazy';
import { hashCredential } from './credentials';

/** The response field of a new agent API key. */
export const agentKeyField = lazy(() =>
  z.string().meta({
    pattern: credentialPattern('agent'),
    description: 'The key itself, shown only this once.',
  }),
);

/**
 * Makes an agent API key, the prefix of it that may be shown, and the hash to store. Stores
 * nothing.
 */
export async function makeAgentKey({ principal, runtime, config }: UserContext) {
  const key = makeCredential('agent', principal.shard, runtime.random);
  const [hash] = await hashCredential(config.keyring, key);
  return { key, prefix: displayPrefix(key), hash };
}
