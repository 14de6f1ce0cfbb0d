import { env } from 'cloudflare:test';
import { countLogs } from '../../src/agents/statistics/count';
import { sealTrees } from '../../src/audit/tree/seal';
import { openSigner } from '../../src/audit/tree/signer';
import { Cost, Database } from '../../src/db/database';
import type { Env } from '../../src/env';
import { SERVICE_AUTHORITY } from '../../src/ledger/authority';
import { Ledger } from '../../src/ledger/ledger';

/**
 * Seals and counts all entries of every log, as the next sweep would. Only then may they be erased.
 * @param time the test's clock, so that no head is signed for a time in the future: needed where
 *   other logs of the database may have later entries
 */
export async function sealLogs(
  client: D1Database,
  { bucket = env.FILES, time }: { bucket?: R2Bucket; time?: number } = {},
): Promise<void> {
  const database = new Database(client, new Cost());
  const trees = { reader: database, ledger: new Ledger(database, SERVICE_AUTHORITY), bucket };
  const signer = await openSigner(env as unknown as Env);
  await client.prepare('update trees set due_at = 0 where due_at is not null').run();
  const now =
    time ??
    (await client
      .prepare('select max(created_at) from audit_entries')
      .first<number>('max(created_at)'));
  while (await sealTrees({ ...trees, signer }, now ?? 0));
  await client.prepare('update trees set count_due_at = 0').run();
  while (await countLogs(database, 0));
}
