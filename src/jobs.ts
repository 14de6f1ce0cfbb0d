import { exportMaker } from './audit/exports/maker';
import { reportMaker } from './audit/reports/maker';
import { openSigner } from './audit/tree/checkpoint';
import type { SealingContext } from './audit/tree/sealing';
import { Cost } from './db/database';
import type { FileKind } from './db/schema';
import { openShard } from './db/shards';
import type { Env, JobMessage, Runtime } from './env';
import { parseFileId } from './files/file';
import { JOB_SIZES, type JobSizes, workOn } from './files/job';
import type { FileMaker } from './files/maker';
import { FileLedger } from './ledger/file-ledger';
import { TreeLedger } from './ledger/tree-ledger';

/** What makes the files of each kind. */
function makersOf(sealing: SealingContext, runtime: Runtime): Record<FileKind, FileMaker> {
  return { export: exportMaker(sealing, runtime.now), report: reportMaker };
}

/** Seconds until work that failed is tried again, at most. */
const MAX_DELAY = 60;

/**
 * Does what the messages hint at, each by itself: one that fails is sent again later. What the queue loses the sweep
 * finds.
 */
export async function runJobs(
  batch: MessageBatch<JobMessage>,
  env: Env,
  runtime: Runtime,
  sizes: JobSizes = JOB_SIZES,
): Promise<void> {
  for (const message of batch.messages) {
    try {
      const { shard, account } = message.body;
      const hasMore = await runJob(message.body, env, runtime, sizes);
      await (hasMore ? env.JOB_QUEUE?.send(message.body) : env.WEBHOOK_QUEUE?.send({ shard, account }));
      message.ack();
    } catch (error) {
      console.error(JSON.stringify({ event: 'job_failed', ...message.body, message: String(error) }));
      message.retry({ delaySeconds: Math.min(2 ** message.attempts, MAX_DELAY) });
    }
  }
}

/** @returns whether there is more to do */
async function runJob({ shard, account, id }: JobMessage, env: Env, runtime: Runtime, sizes: JobSizes) {
  const key = parseFileId(id);
  const database = openShard(env, shard, new Cost());
  if (!key || !database) return false;
  if (!env.FILES) throw new Error('the bucket FILES is not bound');
  const trees = { reader: database, ledger: new TreeLedger(database), bucket: env.FILES };
  const context = {
    reader: database,
    ledger: new FileLedger(database),
    bucket: env.FILES,
    runtime,
    makers: makersOf({ ...trees, signer: await openSigner(env) }, runtime),
    sizes,
    loadAsset: (path: string) => readAsset(env, path),
  };
  return workOn(context, { account, ...key });
}

async function readAsset({ ASSETS }: Env, path: string): Promise<ArrayBuffer> {
  if (!ASSETS) throw new Error('the static files ASSETS are not bound');
  const asset = await ASSETS.fetch(new URL(path, 'https://assets.local'));
  if (!asset.ok) throw new Error(`there is no static file ${path}: ${asset.status}`);
  return asset.arrayBuffer();
}
