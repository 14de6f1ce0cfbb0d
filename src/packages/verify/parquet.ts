import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { JsonObject } from './core/json.ts';

/** Maximum memory of the decoder, in MiB. */
const MAX_MEMORY_MB = 2_048;

/**
 * Reads the rows of a Parquet file. A worker thread decodes them, so that it can be stopped if a
 * damaged file makes it hang.
 * @param rowGroupTimeoutMs time limit for decoding a row group, in milliseconds
 * @throws Error if the file is damaged or takes too long
 */
export async function* readParquet(
  path: string,
  rowGroupTimeoutMs: number,
): AsyncGenerator<JsonObject> {
  const worker = new Worker(join(import.meta.dirname, 'parquet-worker.ts'), {
    workerData: path,
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
  });
  try {
    for (;;) {
      worker.postMessage('next');
      const rows = await nextGroup(worker, rowGroupTimeoutMs);
      if (!rows) return;
      yield* rows;
    }
  } finally {
    await worker.terminate();
  }
}

async function nextGroup(worker: Worker, timeoutMs: number): Promise<JsonObject[] | null> {
  try {
    const [rows] = await once(worker, 'message', { signal: AbortSignal.timeout(timeoutMs) });
    return rows;
  } catch (error) {
    const { name, message } = error as Error;
    throw new Error(name === 'AbortError' ? 'decoding took too long' : message);
  }
}
