import { sql } from 'drizzle-orm';
import { Hono } from 'hono';
import * as z from 'zod';
import { accounts } from '../db/schema';
import { listShards, openShard } from '../db/shards';
import { unavailable } from '../errors';
import { lazy } from '../lib/lazy';
import { logFailure } from '../lib/log';
import type { AppEnv } from './context';
import { noQuery } from './input';
import { answer, ok, operation } from './operation';

const Health = lazy(() =>
  z.object({ status: z.literal('ok') }).meta({ id: 'Health', examples: [{ status: 'ok' }] }),
);

/** Answers whether the service works, after reading from the database of every shard. */
export const health = new Hono<AppEnv>().get(
  '/healthz',
  operation({
    id: 'checkHealth',
    tag: 'Service',
    summary: 'Check the health of the service',
    description: 'Answers after reading from every database.',
    success: ok(Health),
  }),
  noQuery(),
  async (c) => {
    const reads = listShards(c.env).map(async (shard) => {
      const database = openShard(c.env, shard, c.var.cost);
      if (!database) throw new Error(`shard ${shard} is not bound`);
      await database.load([database.select({ one: sql`1` }).from(accounts).limit(1)]);
    });
    try {
      await Promise.all(reads);
    } catch (error) {
      logFailure('unhealthy', error);
      throw unavailable();
    }
    return answer(c, { status: 'ok' });
  },
);
