import { env } from 'cloudflare:test';
import { sealTrees } from '../../src/audit/tree/seal';
import { openSigner } from '../../src/audit/tree/signer';
import { Cost, Database } from '../../src/db/database';
import type { Env } from '../../src/env';
import { SERVICE_AUTHORITY } from '../../src/ledger/authority';
import { Ledger } from '../../src/ledger/ledger';

/** Seals all entries of every log, as the next sweep would. Only sealed entries may be erased. */
export async function sealLogs(client: D1Database, bucket: R2Bucket = env.FILES): Promise<void> {
  const database = new Database(client, new Cost());
  const trees = { reader: database, ledger: new Ledger(database, SERVICE_AUTHORITY), bucket };
  const signer = await openSigner(env as unknown as Env);
  await client.prepare('update trees set due_at = 0 where due_at is not null').run();
  // A head must not have a later time than the clock of the test.
  const now = await client
    .prepare('select max(created_at) from audit_entries')
    .first<number>('max(created_at)');
  while (await sealTrees({ ...trees, signer }, now ?? 0));
}
