import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';
import { isJsonObject, type Json, type JsonObject, parseJson } from './core/json.ts';

/** Maximum size of a row, in characters. Every valid row is shorter. */
const MAX_ROW_LENGTH = 2 ** 26;

/**
 * Reads the rows of a CSV file (RFC 4180) in the form of the JSON export.
 * @throws Error at the first malformed row
 */
export async function* readCsv(file: string): AsyncGenerator<Json> {
  const options = {
    bom: true,
    columns: true,
    record_delimiter: '\r\n',
    max_record_size: MAX_ROW_LENGTH,
  };
  const rows: AsyncIterable<Record<string, string>> = createReadStream(file).pipe(parse(options));
  for await (const row of rows) yield readCells(row);
}

function readCells({ sequence, details: text, ...cells }: Record<string, string>): JsonObject {
  if (text === undefined) return { ...cells, sequence: Number(sequence) };
  const details = parseJson(text);
  const { action, resource } = isJsonObject(details) ? details : ({} as JsonObject);
  return {
    ...cells,
    sequence: Number(sequence),
    details,
    ...(cells.action === guard(action) && { action }),
    ...(cells.resource === guard(resource) && { resource }),
  };
}

/**
 * A text as the export writes it: one that a spreadsheet would read as a formula gets a leading
 * `'`.
 */
function guard(text: Json | undefined): string | null {
  if (typeof text !== 'string') return null;
  return /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
}
