import { exportProducer } from '../audit/exports/producer';
import { reportProducer } from '../audit/reports/produce';
import type { SealingContext } from '../audit/tree/seal';
import { openSigner } from '../audit/tree/signer';
import { TreeRecords } from '../audit/tree/tree-records';
import type { Cost } from '../db/database';
import type { FileKind } from '../db/schema';
import { openShard } from '../db/shards';
import type { Env, JobMessage, Runtime } from '../env';
import { parseFileId } from '../files/file';
import { FileRecords } from '../files/file-records';
import { JOB_SIZES, type JobSizes, processFile } from '../files/job';
import type { FileProducer } from '../files/producer';
import { enqueueWebhook } from '../outbox/enqueue';
import { consume } from './consume';

/** What makes the files of each kind. */
function makersOf(sealing: SealingContext, runtime: Runtime): Record<FileKind, FileProducer> {
  return { export: exportProducer(sealing, runtime.now), report: reportProducer(sealing, runtime.now) };
}

/** Works on the files that the messages name. What the queue loses the sweep finds. */
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

/** @returns whether there is more to do */
async function runJob({ shard, account, id }: JobMessage, cost: Cost, env: Env, runtime: Runtime, sizes: JobSizes) {
  const key = parseFileId(id);
  const database = openShard(env, shard, cost);
  if (!key || !database) return false;
  const { FILES, WEBHOOK_QUEUE: queue, SLOW_WEBHOOK_QUEUE: slowQueue } = env;
  if (!FILES) throw new Error('the bucket FILES is not bound');
  let hasNews = false;
  const announce = () => {
    hasNews = true;
  };
  const trees = { reader: database, ledger: new TreeRecords(database), bucket: FILES };
  const context = {
    reader: database,
    ledger: new FileRecords(database, announce),
    bucket: FILES,
    runtime,
    makers: makersOf({ ...trees, signer: await openSigner(env) }, runtime),
    sizes,
    loadAsset: (path: string) => readAsset(env, path),
  };
  try {
    return await processFile(context, { account, ...key });
  } finally {
    if (hasNews && queue && slowQueue) await enqueueWebhook({ queue, slowQueue }, { shard, account });
  }
}

async function readAsset({ ASSETS }: Env, path: string): Promise<ArrayBuffer> {
  if (!ASSETS) throw new Error('the static files ASSETS are not bound');
  const asset = await ASSETS.fetch(new URL(path, 'https://assets.local'));
  if (!asset.ok) throw new Error(`there is no static file ${path}: ${asset.status}`);
  return asset.arrayBuffer();
}
