import { Cost, type Database } from './db/database';
import { listShards, openShard } from './db/shards';
import type { Env, Runtime } from './env';
import { cleanFiles, resumeFiles } from './files/sweep';
import { AgentErasure, eraseAccounts, eraseWebhooks } from './ledger/erasure';
import { FileLedger } from './ledger/file-ledger';
import { deleteExpiredKeys, deleteOldAnswers, deleteOldDeliveries, deleteOldStatistics } from './ledger/housekeeping';
import { Ledger } from './ledger/ledger';
import { BACKLOG_AGE, eraseExpired } from './ledger/retention';
import { SECOND } from './lib/time';
import { expireSlice } from './permissions/expiry';
import { hintAtDeliveries, hintAtNews } from './webhooks/dispatch/sweep';

export const SWEEP_CRON = '* * * * *';
export const RETENTION_CRON = '17 * * * *';

/** D1 takes 1,000 statements an invocation; a slice takes few. What is left is found by the next run. */
const MAX_STATEMENTS = 900;

/** For so long a run goes on, in milliseconds: the next one is then about to begin. */
const MAX_TIME = 50 * SECOND;
/** After a slice the database is left to others for so many times as long as it took, and at most so long. */
const REST = 3;
const MAX_REST = 250;

/** A kind of work on one shard. */
interface Work {
  name: string;
  shard: string;
  /** Does a slice of it, and answers whether there is more. */
  slice: () => Promise<boolean>;
}

/**
 * Does what is due on every shard: a slice of each kind of work in turn, so that much of one keeps no other waiting. Work
 * that fails is logged and left to the next run.
 */
export async function runCron(cron: string, env: Env, runtime: Runtime): Promise<void> {
  const cost = new Cost();
  const started = runtime.now();
  let waiting = listShards(env).flatMap((shard) => {
    const database = openShard(env, shard, cost);
    return database ? listWork(cron, shard, database, env, runtime) : [];
  });
  while (waiting.length > 0) {
    const unfinished: Work[] = [];
    for (const work of waiting) {
      const begun = runtime.now();
      if (cost.statements > MAX_STATEMENTS || begun - started > MAX_TIME) return;
      if (!(await doSlice(cron, work))) continue;
      unfinished.push(work);
      await rest(runtime, runtime.now() - begun);
    }
    waiting = unfinished;
  }
}

function listWork(cron: string, shard: string, database: Database, env: Env, runtime: Runtime): Work[] {
  const ledger = new Ledger(database);
  const context = { reader: database, ledger, runtime };
  const hints = () => {
    const queues = { queue: bound(env.WEBHOOK_QUEUE), slowQueue: bound(env.SLOW_WEBHOOK_QUEUE) };
    return { shard, ledger, queues, now: runtime.now() };
  };
  const [oldest, newest] = [new AgentErasure(database, 'oldest'), new AgentErasure(database, 'newest')];
  const sweep: Record<string, Work['slice']> = {
    expire: () => expireSlice(context),
    'erase accounts': () => eraseAccounts(database, runtime.now()),
    'hint at news': () => hintAtNews(hints()),
    'hint at deliveries': () => hintAtDeliveries(hints()),
    'erase webhooks': () => eraseWebhooks(database),
    'erase agents, oldest first': () => oldest.eraseSlice(runtime.now()),
    'erase agents, newest first': () => newest.eraseSlice(runtime.now()),
    'erase what expired long ago': () => eraseExpired(database, runtime.now(), BACKLOG_AGE),
    'delete expired keys': () => deleteExpiredKeys(database, runtime.now()),
    'delete old answers': () => deleteOldAnswers(database, runtime.now()),
    'resume files': () => resumeFiles(database, bound(env.JOB_QUEUE), shard, runtime.now()),
    'clean files': () =>
      cleanFiles({ reader: database, ledger: new FileLedger(database), bucket: bound(env.FILES) }, runtime.now()),
  };
  const retention: Record<string, Work['slice']> = {
    'erase what expired': () => eraseExpired(database, runtime.now()),
    'delete old statistics': () => deleteOldStatistics(database, runtime.now()),
    'delete old deliveries': () => deleteOldDeliveries(database, runtime.now()),
  };
  const work = cron === RETENTION_CRON ? retention : sweep;
  return Object.entries(work).map(([name, slice]) => ({ name, shard, slice }));
}

function bound<B>(binding: B | undefined): B {
  if (!binding) throw new Error('the bucket FILES or a queue is not bound');
  return binding;
}

/** Lets those have their turn whose requests came while a slice took the database. */
async function rest(runtime: Runtime, taken: number): Promise<void> {
  if (taken > 0) await runtime.sleep(Math.min(REST * taken, MAX_REST));
}

async function doSlice(cron: string, { name, shard, slice }: Work): Promise<boolean> {
  try {
    return await slice();
  } catch (error) {
    console.error(JSON.stringify({ event: 'cron_failed', cron, shard, work: name, message: String(error) }));
    return false;
  }
}
