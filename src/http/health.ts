import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import { accounts } from '../db/schema';
import { listShards, openShard } from '../db/shards';
import type { App } from './context';
import { noQuery } from './input';

/** Whether the service can do its work: reads every shard's database. */
export const health = new Hono<App>().get('/healthz', noQuery(), async (c) => {
  const reads = listShards(c.env).map(async (shard) => {
    const database = openShard(c.env, shard, c.var.cost);
    await database?.load([database.select({ one: sql`1` }).from(accounts).limit(1)]);
  });
  await Promise.all(reads);
  return c.json({ status: 'ok' });
});
