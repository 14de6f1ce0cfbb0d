import { zstdCompressSync } from 'node:zlib';
import type { ColumnChunk, ParquetType, SchemaElement, Statistics } from 'hyparquet';
import type { ByteWriter } from 'hyparquet-writer';
import { writeColumn } from 'hyparquet-writer/src/column.js';
import { writePageHeader } from 'hyparquet-writer/src/datapage.js';
import type { Id } from '../../lib/typeid';
import { storedZstdFrame } from '../../lib/zstd-frame';
import type { ExportedEntry } from './source';

/**
 * Maximum bytes of a page before compression. The runtime's zstd fails if its output is larger than
 * 40,960 bytes (https://github.com/cloudflare/workerd/issues/6769), which a page of this size never
 * reaches.
 */
const PAGE_SIZE = 32 * 1024;
/** Bytes of the length before each text of a page. */
const LENGTH_SIZE = 4;
const INTEGER_SIZE = 8;
const PAGE_INTEGERS = PAGE_SIZE / INTEGER_SIZE - 1;

/** A column of the file. */
export interface Column {
  element: SchemaElement;
  /** Writes the column's values of one row group, and returns their place in the file. */
  write(writer: ByteWriter, entries: readonly ExportedEntry[]): ColumnChunk;
}

/** The columns of an export, in the order of the file. */
export function listColumns(account: Id<'user'>, withDetails: boolean): Column[] {
  const columns = [
    uniqueText('id', ({ id }) => id),
    integer(
      { name: 'sequence', type: 'INT64', repetition_type: 'REQUIRED' },
      ({ sequence }) => sequence,
    ),
    repeatedText('user_id', () => account),
    repeatedText('agent_id', ({ agentId }) => agentId),
    uniqueText('permission_request_id', ({ permission }) => permission),
    repeatedText('event_type', ({ event }) => event),
    repeatedText('action', ({ action }) => action),
    repeatedText('resource', ({ resource }) => resource),
    repeatedText('ip_address', ({ ipAddress }) => ipAddress),
    repeatedText('user_agent', ({ userAgent }) => userAgent),
    integer(createdAtElement, ({ createdAt }) => createdAt),
  ];
  if (withDetails) columns.push(uniqueText('details', ({ details }) => details));
  return columns;
}

const createdAtElement: SchemaElement = {
  name: 'created_at',
  type: 'INT64',
  repetition_type: 'REQUIRED',
  converted_type: 'TIMESTAMP_MILLIS',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
};

function textElement(name: string): SchemaElement {
  return {
    name,
    type: 'BYTE_ARRAY',
    repetition_type: 'REQUIRED',
    converted_type: 'UTF8',
    logical_type: { type: 'STRING' },
  };
}

/**
 * A column of integers. Each row group states its lowest and highest value, so that a reader can
 * skip row groups.
 */
function integer(element: SchemaElement, read: (entry: ExportedEntry) => number): Column {
  return { element, write: (writer, entries) => writeIntegers(writer, element, entries.map(read)) };
}

/** A column of texts that repeat. It gets a dictionary if that makes it smaller. */
function repeatedText(name: string, read: (entry: ExportedEntry) => string): Column {
  const element = textElement(name);
  return {
    element,
    write: (writer, entries) => writeRepeated(writer, element, encodeRepeated(entries.map(read))),
  };
}

/** A column of texts that rarely repeat. It has no dictionary. */
function uniqueText(name: string, read: (entry: ExportedEntry) => string): Column {
  const element = textElement(name);
  return { element, write: (writer, entries) => writeTexts(writer, element, entries.map(read)) };
}

/** Writes texts with the library, which decides whether the column gets a dictionary. */
function writeRepeated(
  writer: ByteWriter,
  element: SchemaElement,
  values: Uint8Array[],
): ColumnChunk {
  const column = {
    columnName: element.name,
    element,
    schemaPath: [{ name: 'root' }, element],
    codec: 'ZSTD' as const,
    compressors: { ZSTD: compress },
    stats: false,
    pageSize: PAGE_SIZE,
    dictionarySize: PAGE_SIZE,
    columnIndex: false,
    offsetIndex: false,
  };
  const pageData = { values, definitionLevels: [], repetitionLevels: [], maxDefinitionLevel: 0 };
  return writeColumn({ writer, column, pageData }).chunk;
}

function writeTexts(
  writer: ByteWriter,
  element: SchemaElement,
  texts: readonly string[],
): ColumnChunk {
  const pages = cutPages(texts).map((page) => ({ bytes: encodePage(page), rows: page.length }));
  return writePages(writer, element, pages);
}

function writeIntegers(
  writer: ByteWriter,
  element: SchemaElement,
  values: readonly number[],
): ColumnChunk {
  const pages: Page[] = [];
  for (let start = 0; start < values.length; start += PAGE_INTEGERS) {
    const page = values.slice(start, start + PAGE_INTEGERS);
    pages.push({ bytes: encodeIntegers(page), rows: page.length });
  }
  return writePages(writer, element, pages, {
    min_value: BigInt(Math.min(...values)),
    max_value: BigInt(Math.max(...values)),
    null_count: 0n,
  });
}

/** Values of a column in the encoding PLAIN, before compression. */
interface Page {
  bytes: Uint8Array;
  rows: number;
}

/**
 * Writes pages in the encoding PLAIN. This is several times as fast as the library, which copies
 * each value separately.
 */
function writePages(
  writer: ByteWriter,
  { name, type }: SchemaElement,
  pages: readonly Page[],
  statistics?: Statistics,
): ColumnChunk {
  const start = writer.offset;
  let size = 0;
  let count = 0;
  for (const { bytes, rows } of pages) {
    const compressed = compress(bytes);
    const headerStart = writer.offset;
    writePageHeader(writer, {
      type: 'DATA_PAGE_V2',
      uncompressed_page_size: bytes.length,
      compressed_page_size: compressed.length,
      data_page_header_v2: {
        num_values: rows,
        num_nulls: 0,
        num_rows: rows,
        encoding: 'PLAIN',
        definition_levels_byte_length: 0,
        repetition_levels_byte_length: 0,
        is_compressed: true,
      },
    });
    size += writer.offset - headerStart + bytes.length;
    count += rows;
    writer.appendBytes(compressed);
  }
  return {
    meta_data: {
      type: type as ParquetType,
      encodings: ['PLAIN'],
      path_in_schema: [name],
      codec: 'ZSTD',
      num_values: BigInt(count),
      total_compressed_size: BigInt(writer.offset - start),
      total_uncompressed_size: BigInt(size),
      data_page_offset: BigInt(start),
      ...(statistics && {
        statistics,
        encoding_stats: [{ page_type: 'DATA_PAGE_V2', encoding: 'PLAIN', count: pages.length }],
      }),
    },
    file_offset: BigInt(start),
  };
}

/** Encodes safe integers in 64 bits each, little-endian. */
function encodeIntegers(values: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(values.length * INTEGER_SIZE);
  const view = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) {
    view.setUint32(i * INTEGER_SIZE, value % 2 ** 32, true);
    view.setInt32(i * INTEGER_SIZE + 4, Math.floor(value / 2 ** 32), true);
  }
  return bytes;
}

/**
 * Divides texts into pages of at most about {@link PAGE_SIZE}. A longer text gets a page of its
 * own.
 */
function cutPages(texts: readonly string[]): string[][] {
  const pages: string[][] = [];
  let start = 0;
  let size = 0;
  for (const [i, { length }] of texts.entries()) {
    if (i > start && size + length >= PAGE_SIZE) {
      pages.push(texts.slice(start, i));
      start = i;
      size = 0;
    }
    size += length;
  }
  pages.push(texts.slice(start));
  return pages;
}

const encoder = new TextEncoder();
const ROOM_FOR_LENGTH = '\0'.repeat(LENGTH_SIZE);

/** Encodes a page of texts at once, then writes the length of each text before it. */
function encodePage(texts: readonly string[]): Uint8Array {
  const joined = ROOM_FOR_LENGTH + texts.join(ROOM_FOR_LENGTH);
  const bytes = encoder.encode(joined);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const isAscii = bytes.length === joined.length;
  let at = 0;
  for (const text of texts) {
    const length = isAscii ? text.length : encoder.encode(text).length;
    view.setUint32(at, length, true);
    at += LENGTH_SIZE + length;
  }
  return bytes;
}

/** Encodes texts as UTF-8. Equal texts share one array. */
function encodeRepeated(texts: readonly string[]): Uint8Array[] {
  const known = new Map<string, Uint8Array>();
  return texts.map((text) => {
    const bytes = known.get(text) ?? encoder.encode(text);
    known.set(text, bytes);
    return bytes;
  });
}

/**
 * Compresses a page. Stores it uncompressed if a long text made it too large for the runtime's
 * zstd.
 */
function compress(page: Uint8Array): Uint8Array {
  try {
    return zstdCompressSync(page);
  } catch {
    return storedZstdFrame(page);
  }
}
