import { exportProducers } from '../audit/exports/produce';
import { reportProducers } from '../audit/reports/produce';
import type { SealingContext } from '../audit/tree/seal';
import { openSigner } from '../audit/tree/signer';
import type { Cost } from '../db/database';
import type { FileKind } from '../db/schema';
import { openShard } from '../db/shards';
import type { Env, JobMessage, Runtime } from '../env';
import { parseFileId } from '../files/file';
import { JOB_SIZES, type JobSizes, processFile } from '../files/job';
import type { FileProducerFactory } from '../files/producer';
import { SERVICE } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import { enqueueWebhook } from '../outbox/enqueue';
import { consume } from './consume';

/** The producers of each kind of file. */
function producersOf(sealing: SealingContext, runtime: Runtime): Record<FileKind, FileProducerFactory> {
  return { export: exportProducers(sealing, runtime.now), report: reportProducers(sealing, runtime.now) };
}

/** Runs a job for each message of the queue. If the queue loses a message, the sweep sends another. */
export async function consumeFileQueue(
  batch: MessageBatch<JobMessage>,
  env: Env,
  runtime: Runtime,
  sizes: JobSizes = JOB_SIZES,
): Promise<void> {
  const describe = ({ shard, account, id }: JobMessage) => ({ shard, account_number: account, file: id });
  await consume(batch, runtime, describe, async (message, cost) => {
    const hasMore = await runJob(message, cost, env, runtime, sizes);
    if (hasMore) await env.JOB_QUEUE?.send(message);
  });
}

/** Runs a job, and notifies the webhook worker of the file's outcome. Returns whether another job has to continue. */
async function runJob({ shard, account, id }: JobMessage, cost: Cost, env: Env, runtime: Runtime, sizes: JobSizes) {
  const key = parseFileId(id);
  const database = openShard(env, shard, cost);
  if (!key || !database) return false;
  const { FILES, WEBHOOK_QUEUE: queue, SLOW_WEBHOOK_QUEUE: slowQueue } = env;
  if (!FILES) throw new Error('the bucket FILES is not bound');
  let isPending = false;
  const shared = { reader: database, ledger: new Ledger(database, SERVICE), bucket: FILES };
  const context = {
    ...shared,
    runtime,
    producers: producersOf({ ...shared, signer: await openSigner(env) }, runtime),
    sizes,
    loadAsset: (path: string) => readAsset(env, path),
    announce: () => {
      isPending = true;
    },
  };
  try {
    return await processFile(context, { account, ...key });
  } finally {
    if (isPending && queue && slowQueue) await enqueueWebhook({ queue, slowQueue }, { shard, account });
  }
}

async function readAsset({ ASSETS }: Env, path: string): Promise<ArrayBuffer> {
  if (!ASSETS) throw new Error('the static files ASSETS are not bound');
  const asset = await ASSETS.fetch(new URL(path, 'https://assets.local'));
  if (!asset.ok) throw new Error(`there is no static file ${path}: ${asset.status}`);
  return asset.arrayBuffer();
}
