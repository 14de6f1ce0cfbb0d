import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { JsonObject } from './json.ts';

/** Memory that decoding may take, in MiB. */
const MAX_MEMORY_MB = 2_048;

/**
 * The rows of a Parquet file, decoded beside the program: what a damaged file makes the decoder do can be ended.
 * @param groupTimeoutMs milliseconds that a row group may take
 */
export async function* readParquet(path: string, groupTimeoutMs: number): AsyncGenerator<JsonObject> {
  const worker = new Worker(join(import.meta.dirname, 'parquet-worker.ts'), {
    workerData: path,
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
  });
  try {
    for (;;) {
      worker.postMessage('next');
      const rows = await nextGroup(worker, groupTimeoutMs);
      if (!rows) return;
      yield* rows;
    }
  } finally {
    await worker.terminate();
  }
}

async function nextGroup(worker: Worker, patience: number): Promise<JsonObject[] | null> {
  try {
    const [rows] = await once(worker, 'message', { signal: AbortSignal.timeout(patience) });
    return rows;
  } catch (error) {
    const { name, message } = error as Error;
    throw new Error(name === 'AbortError' ? 'decoding it does not come to an end' : message);
  }
}
