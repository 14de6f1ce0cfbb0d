import { env } from 'cloudflare:test';
import { sealTrees } from '../../src/audit/tree/sealing';
import { openSigner } from '../../src/audit/tree/signer';
import { Cost, Database } from '../../src/db/database';
import type { Env } from '../../src/env';
import { TreeLedger } from '../../src/ledger/tree-ledger';

/** When everything is due. */
const LATER = Date.UTC(2098, 0, 1);

/** Seals every account's log as far as it goes, as the next sweep would: only then may its entries be erased. */
export async function sealLogs(client: D1Database, bucket: R2Bucket = env.FILES): Promise<void> {
  const database = new Database(client, new Cost());
  const trees = { reader: database, ledger: new TreeLedger(database), bucket };
  const signer = await openSigner(env as unknown as Env);
  while (await sealTrees({ ...trees, signer }, LATER));
}
