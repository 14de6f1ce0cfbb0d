import { env } from 'cloudflare:test';
import { signErasure } from '../../src/audit/tree/erasure-note';
import { openSigner } from '../../src/audit/tree/signer';
import { Cost, Database } from '../../src/db/database';
import { AgentErasure } from '../../src/erasure/erase-agents';

/**
 * Opens the erasure of deleted agents that the sweep uses, with a clock that stands still at `now`.
 */
export function openErasure(
  client: D1Database,
  first: 'oldest' | 'newest',
  now: number,
): AgentErasure {
  const signer = openSigner({ ...env });
  return new AgentErasure(
    new Database(client, new Cost()),
    async (erased) => signErasure(await signer, erased),
    () => now,
    first,
  );
}
