import { InvalidRow, type Row, readRow } from './entry.ts';
import { type Json, parseJson } from './json.ts';
import { LineReader, readArrayMembers } from './lines.ts';
import { readParquet } from './parquet.ts';

/**
 * Reads the rows of an export file, in the order of the file.
 * @param groupTimeoutMs time limit for decoding a Parquet row group, in milliseconds
 * @throws InvalidRow at the first row that is not a valid entry or cannot be read
 */
export async function* readRows(
  file: string,
  format: 'json' | 'parquet',
  groupTimeoutMs = 30_000,
): AsyncGenerator<Row, void> {
  const values = format === 'json' ? readJson(file) : readParquet(file, groupTimeoutMs);
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
    if ((await lines.next()) !== '[') throw new InvalidRow('the file does not begin like a JSON export');
    for await (const line of readArrayMembers(lines, ']')) yield parseJson(line);
  } finally {
    await lines.close();
  }
}
