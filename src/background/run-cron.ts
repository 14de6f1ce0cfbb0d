import { heldShards, Mover, type MoverShard } from '../accounts/move/mover';
import { eraseTrees } from '../audit/tree/erase-tree';
import { signErasure } from '../audit/tree/erasure-note';
import { sealTrees } from '../audit/tree/seal';
import { type LogSigner, openSigner } from '../audit/tree/signer';
import { TreeRecords } from '../audit/tree/tree-records';
import { Cost, type Database } from '../db/database';
import { moves } from '../db/schema';
import { listShards, openShard } from '../db/shards';
import type { Env, Runtime } from '../env';
import {
  deleteExpiredCredentials,
  deleteOldAnswers,
  deleteOldDeliveries,
  deleteOldStatistics,
} from '../erasure/delete-expired';
import { eraseAccounts } from '../erasure/erase-accounts';
import { AgentErasure } from '../erasure/erase-agents';
import { BACKLOG_AGE, Retention } from '../erasure/erase-retention';
import { eraseWebhooks } from '../erasure/erase-webhooks';
import type { SignErasure } from '../erasure/erasure-record';
import { FileRecords } from '../files/file-records';
import { cleanFiles, resumeFiles } from '../files/sweep';
import { SERVICE } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import { logFailure } from '../lib/log';
import { SECOND } from '../lib/time';
import { expireSlice } from '../permissions/expire';
import { enqueueDueDeliveries, enqueuePendingEvents, UpcomingDeliveries } from '../webhooks/dispatch/sweep';
import { type Slice, Work } from './task-run';

export const SWEEP_CRON = '* * * * *';
export const RETENTION_CRON = '17 * * * *';

/** D1 takes 1,000 statements an invocation; a slice takes few. What is left is found by the next run. */
const MAX_STATEMENTS = 900;

/** For so long a run goes on, in milliseconds: the next one is then about to begin. */
const MAX_TIME = 50 * SECOND;
/** After a slice the database is left to others for so many times as long as it took, and at most so long. */
const REST = 3;
const MAX_REST = 250;

/**
 * Does what is due on every shard: a slice of each kind of work in turn, so that much of one keeps no other waiting. Work
 * that fails is left to the next run.
 */
export async function runCron(cron: string, env: Env, runtime: Runtime): Promise<void> {
  const cost = new Cost();
  const started = runtime.now();
  const shards = listShards(env).flatMap((name) => {
    const database = openShard(env, name, cost);
    return database ? [{ name, database }] : [];
  });
  const moving = shards.length > 1 ? await findMoves(shards) : NOTHING_MOVES;
  let waiting = shards.flatMap((shard) => {
    // While an account is held, whatever looks for work on its shards would find half of it.
    const work = moving.held.has(shard.name) ? [] : listWork(cron, shard.name, shard.database, env, runtime);
    if (!moving.touched.has(shard.name)) return work;
    const mover = new Mover(shard, shards);
    return [
      new Work(cron, shard.name, 'clear arrivals', () => mover.clearArrivals()),
      new Work(cron, shard.name, 'move accounts', () => mover.moveSlice(runtime.now())),
      ...work,
    ];
  });
  while (waiting.length > 0 && cost.statements <= MAX_STATEMENTS && runtime.now() - started <= MAX_TIME) {
    for (const work of waiting) {
      const begun = runtime.now();
      if (cost.statements > MAX_STATEMENTS || begun - started > MAX_TIME) break;
      await work.doSlice(cost, runtime);
      if (work.hasMore) await rest(runtime, runtime.now() - begun);
    }
    waiting = waiting.filter(({ hasMore }) => hasMore);
  }
  for (const work of waiting) work.leave();
}

interface Moves {
  /** The shards from or to which accounts move. */
  touched: Set<string>;
  /** Those of them on which one is held, and those that do not answer: nothing else is to be done there. */
  held: Set<string>;
}

const NOTHING_MOVES: Moves = { touched: new Set(), held: new Set() };

async function findMoves(shards: readonly MoverShard[]): Promise<Moves> {
  const moving: Moves = { touched: new Set(), held: new Set() };
  await Promise.all(
    shards.map(async ({ name, database }) => {
      try {
        const [found] = await database.load([database.select().from(moves)]);
        if (found.length > 0) moving.touched.add(name);
        for (const move of found) for (const held of heldShards(name, move)) moving.held.add(held);
      } catch (error) {
        logFailure('moves_not_found', error);
        moving.held.add(name);
      }
    }),
  );
  return moving;
}

function listWork(cron: string, shard: string, database: Database, env: Env, runtime: Runtime): Work[] {
  const ledger = new Ledger(database, SERVICE);
  const context = { reader: database, ledger, runtime };
  const hints = () => {
    const queues = { queue: bound(env.WEBHOOK_QUEUE), slowQueue: bound(env.SLOW_WEBHOOK_QUEUE) };
    return { shard, reader: database, ledger, queues, now: runtime.now() };
  };
  const upcoming = new UpcomingDeliveries(hints);
  let signer: Promise<LogSigner> | undefined;
  const open = () => {
    signer ??= openSigner(env);
    return signer;
  };
  const sign: SignErasure = async (erased) => signErasure(await open(), erased);
  const [oldest, newest] = (['oldest', 'newest'] as const).map(
    (first) => new AgentErasure(database, sign, runtime.now, first),
  ) as [AgentErasure, AgentErasure];
  const overdue = new Retention(database, sign, runtime.now, BACKLOG_AGE);
  const expired = new Retention(database, sign, runtime.now);
  const sweep: Record<string, Slice> = {
    expire: () => expireSlice(context),
    'seal logs': async () => {
      const trees = { reader: database, ledger: new TreeRecords(database), bucket: bound(env.FILES) };
      return sealTrees({ ...trees, signer: await open() }, runtime.now());
    },
    'erase trees': () => eraseTrees({ reader: database, ledger, bucket: bound(env.FILES) }, runtime.now()),
    'erase accounts': () => eraseAccounts(database, runtime.now()),
    'hint at what is due soon': () => upcoming.sendSlice(),
    'hint at news': () => enqueuePendingEvents(hints()),
    'hint at deliveries': () => enqueueDueDeliveries(hints()),
    'erase webhooks': () => eraseWebhooks(database),
    'erase agents, oldest first': () => oldest.eraseSlice(),
    'erase agents, newest first': () => newest.eraseSlice(),
    'erase what expired long ago': () => overdue.eraseSlice(),
    'delete expired credentials': () => deleteExpiredCredentials(database, runtime.now()),
    'delete old answers': () => deleteOldAnswers(database, runtime.now()),
    'resume files': () => resumeFiles(database, bound(env.JOB_QUEUE), shard, runtime.now()),
    'clean files': () =>
      cleanFiles({ reader: database, ledger: new FileRecords(database), bucket: bound(env.FILES) }, runtime.now()),
  };
  const retention: Record<string, Slice> = {
    'erase what expired': () => expired.eraseSlice(),
    'delete old statistics': () => deleteOldStatistics(database, runtime.now()),
    'delete old deliveries': () => deleteOldDeliveries(database, runtime.now()),
  };
  const work = cron === RETENTION_CRON ? retention : sweep;
  return Object.entries(work).map(([name, slice]) => new Work(cron, shard, name, slice));
}

function bound<B>(binding: B | undefined): B {
  if (!binding) throw new Error('the bucket FILES or a queue is not bound');
  return binding;
}

/** Lets those have their turn whose requests came while a slice took the database. */
async function rest(runtime: Runtime, taken: number): Promise<void> {
  if (taken > 0) await runtime.sleep(Math.min(REST * taken, MAX_REST));
}
