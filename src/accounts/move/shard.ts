import type { Database } from '../../db/database';

/** One shard of the deployment. */
export interface MoverShard {
  name: string;
  database: Database;
}
