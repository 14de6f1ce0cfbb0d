import { exportProducerFactory } from '../audit/exports/produce';
import { openSigner } from '../audit/tree/signer';
import type { Cost } from '../db/database';
import { openShard } from '../db/shards';
import type { Env, FileMessage, Runtime } from '../env';
import { parseFileId } from '../files/file';
import { processFile } from '../files/job';
import { JOB_SIZES, type JobSizes } from '../files/job-context';
import { serviceAuthority } from '../ledger/authority';
import { Ledger } from '../ledger/ledger';
import { enqueueMessage } from '../outbox/enqueue';
import { reportProducerFactory } from '../reports/produce';
import { requireBinding } from '../task';
import { consume } from './consume';

/**
 * Runs a job, a limited part of the work on a file, for each message of the queue. If the queue
 * loses a message, a task of every minute sends another.
 */
export async function consumeFileQueue(
  batch: MessageBatch<FileMessage>,
  env: Env,
  runtime: Runtime,
  sizes: JobSizes = JOB_SIZES,
): Promise<void> {
  const describe = ({ shard, account, id }: FileMessage) => ({
    shard,
    account_number: account,
    file: id,
  });
  await consume(batch, runtime, describe, async (message, cost) => {
    const hasMore = await runJob(message, cost, env, runtime, sizes);
    if (hasMore) await env.JOB_QUEUE?.send(message);
  });
}

/**
 * Runs a job; if it completes or fails the file, notifies receivers. Returns whether another job
 * has to continue.
 */
async function runJob(
  { shard, account, id }: FileMessage,
  cost: Cost,
  env: Env,
  runtime: Runtime,
  sizes: JobSizes,
) {
  const key = parseFileId(id);
  const database = openShard(env, shard, cost);
  if (!key || !database) return false;
  const { WEBHOOK_QUEUE: queue, SLOW_WEBHOOK_QUEUE: slowQueue } = env;
  let hasEvent = false;
  const shared = {
    reader: database,
    ledger: new Ledger(database, serviceAuthority([account])),
    bucket: requireBinding(env, 'FILES'),
  };
  const sealing = { ...shared, signer: await openSigner(env) };
  const context = {
    ...shared,
    runtime,
    producers: {
      export: exportProducerFactory(sealing, runtime.now),
      report: reportProducerFactory(sealing, runtime.now),
    },
    sizes,
    loadAsset: (path: string) => readAsset(env, path),
    onEvent: () => {
      hasEvent = true;
    },
  };
  try {
    return await processFile(context, { account, ...key });
  } finally {
    if (hasEvent && queue && slowQueue)
      await enqueueMessage({ queue, slowQueue }, { shard, account });
  }
}

async function readAsset({ ASSETS }: Env, path: string): Promise<ArrayBuffer> {
  if (!ASSETS) throw new Error('the static files ASSETS are not bound');
  const asset = await ASSETS.fetch(new URL(path, 'https://assets.local'));
  if (!asset.ok) throw new Error(`there is no static file ${path}: ${asset.status}`);
  return asset.arrayBuffer();
}
