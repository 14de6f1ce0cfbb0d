import { open } from 'node:fs/promises';
import { CannotCheck } from './core/findings.ts';
import { type Json, parseJson } from './core/json.ts';
import { readCsv } from './csv.ts';
import { InvalidRow, type Row, readRow } from './entry.ts';
import { LineReader, readArrayMembers } from './lines.ts';
import { readParquet } from './parquet.ts';

export type ExportFormat = 'json' | 'csv' | 'parquet';

const READERS = { json: readJson, csv: readCsv, parquet: readParquet };

/**
 * The format of an export file, by its first bytes.
 * @throws CannotCheck if the file cannot be read, or is not an export
 */
export async function detectFormat(file: string): Promise<ExportFormat> {
  const handle = await open(file).catch((error) => {
    throw new CannotCheck(`${file} cannot be read: ${error.message}`);
  });
  const { buffer, bytesRead } = await handle
    .read(Buffer.alloc(4), 0, 4)
    .finally(() => handle.close());
  const start = buffer.toString('latin1', 0, bytesRead);
  if (start === 'PAR1') return 'parquet';
  if (start.startsWith('{'))
    throw new CannotCheck(`${file} is not an export; one entry is checked with its --proof`);
  return start.startsWith('[') ? 'json' : 'csv';
}

/**
 * Reads the rows of an export file, in the order of the file.
 * @param rowGroupTimeoutMs time limit for decoding a Parquet row group, in milliseconds
 * @throws InvalidRow at the first row that is not a valid entry or cannot be read
 */
export async function* readRows(
  file: string,
  format: ExportFormat,
  rowGroupTimeoutMs = 30_000,
): AsyncGenerator<Row, void> {
  const values = READERS[format](file, rowGroupTimeoutMs);
  try {
    for await (const value of values) yield readRow(value);
  } catch (error) {
    if (error instanceof InvalidRow) throw error;
    throw new InvalidRow(`it cannot be read: ${(error as Error).message}`);
  }
}

/** Reads a JSON array with one entry per line. */
async function* readJson(file: string): AsyncGenerator<Json> {
  const lines = new LineReader(file);
  try {
    if ((await lines.next()) !== '[')
      throw new InvalidRow('the file does not begin like a JSON export');
    for await (const line of readArrayMembers(lines, ']')) yield parseJson(line);
  } finally {
    await lines.close();
  }
}
