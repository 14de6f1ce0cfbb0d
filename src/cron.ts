import { Cost, type Database } from './db/database';
import { listShards, openShard } from './db/shards';
import type { Env, Runtime } from './env';
import { eraseSlice } from './ledger/erasure';
import { deleteExpiredKeys, deleteOldStatistics } from './ledger/housekeeping';
import { Ledger } from './ledger/ledger';
import { expireSlice } from './permissions/expiry';

export const SWEEP_CRON = '* * * * *';
export const RETENTION_CRON = '17 * * * *';

/** Slices of one kind of work in one run: the next run goes on. Keeps a run below D1's 1,000 queries. */
const MAX_SLICES = 60;

/** Does what is due on every shard; work that fails is logged, keeps no other from its turn, and is due again. */
export async function runCron(cron: string, env: Env, runtime: Runtime): Promise<void> {
  for (const shard of listShards(env)) {
    const database = openShard(env, shard, new Cost());
    if (!database) continue;
    const work = cron === RETENTION_CRON ? retention(database, runtime) : sweep(database, runtime);
    for (const [name, slice] of Object.entries(work)) {
      try {
        for (let slices = 0; slices < MAX_SLICES && (await slice()); slices++);
      } catch (error) {
        console.error(JSON.stringify({ event: 'cron_failed', cron, shard, work: name, message: String(error) }));
      }
    }
  }
}

/** A piece of work, cut into slices; answers whether there is more. */
type Work = Record<string, () => Promise<boolean>>;

function sweep(database: Database, runtime: Runtime): Work {
  const context = { reader: database, ledger: new Ledger(database), runtime };
  return {
    expire: async () => (await expireSlice(context)).more,
    erase: () => eraseSlice(database),
    deleteExpiredKeys: async () => {
      await deleteExpiredKeys(database, runtime.now());
      return false;
    },
  };
}

function retention(database: Database, runtime: Runtime): Work {
  return { deleteOldStatistics: () => deleteOldStatistics(database, runtime.now()) };
}
