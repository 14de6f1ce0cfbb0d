import { exportMaker } from './audit/exports/maker';
import { reportMaker } from './audit/reports/maker';
import { Cost } from './db/database';
import type { FileKind } from './db/schema';
import { openShard } from './db/shards';
import type { Env, JobMessage, Runtime } from './env';
import { parseFileId } from './files/file';
import { JOB_SIZES, type JobSizes, workOn } from './files/job';
import type { FileMaker } from './files/maker';
import { sendHint } from './http/webhook-hint';
import { FileLedger } from './ledger/file-ledger';

/** What makes the files of each kind. */
const MAKERS: Record<FileKind, FileMaker> = { export: exportMaker, report: reportMaker };

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
      const hasMore = await runJob(message.body, env, runtime, sizes);
      if (hasMore) await env.JOB_QUEUE?.send(message.body);
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
  const { FILES, WEBHOOK_QUEUE: queue, SLOW_WEBHOOK_QUEUE: slowQueue } = env;
  if (!FILES) throw new Error('the bucket FILES is not bound');
  let hasNews = false;
  const announce = () => {
    hasNews = true;
  };
  const context = {
    reader: database,
    ledger: new FileLedger(database, announce),
    bucket: FILES,
    runtime,
    makers: MAKERS,
    sizes,
    loadAsset: (path: string) => readAsset(env, path),
  };
  try {
    return await workOn(context, { account, ...key });
  } finally {
    if (hasNews && queue && slowQueue) await sendHint({ queue, slowQueue }, { shard, account });
  }
}

async function readAsset({ ASSETS }: Env, path: string): Promise<ArrayBuffer> {
  if (!ASSETS) throw new Error('the static files ASSETS are not bound');
  const asset = await ASSETS.fetch(new URL(path, 'https://assets.local'));
  if (!asset.ok) throw new Error(`there is no static file ${path}: ${asset.status}`);
  return asset.arrayBuffer();
}
