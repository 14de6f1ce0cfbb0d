import { parentPort, workerData } from 'node:worker_threads';
import { zstdDecompressSync } from 'node:zlib';
import {
  asyncBufferFromFile,
  type ParquetParsers,
  parquetMetadataAsync,
  parquetReadObjects,
} from 'hyparquet';
import { type JsonObject, parseJson } from './core/json.ts';

/** Maximum decompressed size of a page, so that a small file cannot exhaust the memory. */
const MAX_PAGE_BYTES = 2 ** 28;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const readers = {
  compressors: {
    ZSTD: (bytes: Uint8Array) =>
      new Uint8Array(zstdDecompressSync(bytes, { maxOutputLength: MAX_PAGE_BYTES })),
  },
  parsers: {
    stringFromBytes: (bytes: Uint8Array | undefined) => bytes && utf8.decode(bytes),
    timestampFromMilliseconds: (time: bigint) => new Date(Number(time)).toISOString(),
  } satisfies Partial<ParquetParsers>,
  geoparquet: false,
};

async function* readGroups(path: string): AsyncGenerator<JsonObject[], null> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file, readers);
  let rowStart = 0;
  for (const { num_rows: rows } of metadata.row_groups) {
    const rowEnd = rowStart + Number(rows);
    const group = await parquetReadObjects({ file, metadata, rowStart, rowEnd, ...readers });
    if (group.length !== Number(rows))
      throw new Error('the number of rows in a row group differs from its metadata');
    yield group.map(readObject);
    rowStart = rowEnd;
  }
  if (BigInt(rowStart) !== metadata.num_rows)
    throw new Error('the number of rows in the file differs from its metadata');
  return null;
}

/**
 * A row in the form of the JSON export. Omits a sequence or details of another type; `readRow` then
 * refuses the row.
 */
function readObject({ sequence, details, ...texts }: Record<string, unknown>): JsonObject {
  return {
    ...(texts as JsonObject),
    ...(typeof sequence === 'bigint' && { sequence: Number(sequence) }),
    ...(typeof details === 'string' && { details: readDetails(details) }),
  };
}

/** Parses the details. Invalid JSON is returned as a string, which `readRow` refuses. */
function readDetails(text: string) {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

const groups = readGroups(workerData);
parentPort?.on('message', async () => parentPort?.postMessage((await groups.next()).value));
