import { zstdCompressSync } from 'node:zlib';
import type { RowGroup, SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Json } from '../../lib/json';
import { fromTaggedJson, toTaggedJson } from '../../lib/tagged-json';
import type { Id } from '../../lib/typeid';
import { storedZstdFrame } from '../../lib/zstd-frame';
import type { Encoder } from './encoder';
import type { ExportedEntry } from './source';

/** A row group is held in memory until it is full: so many entries, or characters of text. */
const GROUP_ROWS = 16_384;
const GROUP_CHARACTERS = 8 * 2 ** 20;
/**
 * Bytes of a page, before compression. The runtime's zstd fails where its output is larger than 40,960 bytes
 * (https://github.com/cloudflare/workerd/issues/6769): that of a page this small never is.
 */
const PAGE_SIZE = 32 * 1024;
/** Reading fewer at a time would cost more than reading some again. */
const FEWEST_WANTED = 256;

interface Saved {
  groups: RowGroup[];
  rows: bigint;
  offset: number;
}

const text = (name: string): SchemaElement => ({
  name,
  type: 'BYTE_ARRAY',
  repetition_type: 'REQUIRED',
  converted_type: 'UTF8',
  logical_type: { type: 'STRING' },
});

const created: SchemaElement = {
  name: 'created_at',
  type: 'INT64',
  repetition_type: 'REQUIRED',
  converted_type: 'TIMESTAMP_MILLIS',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
};

/** A column: what it is called and holds, and its value in an entry. */
interface Column {
  element: SchemaElement;
  read: (entry: ExportedEntry) => string | bigint | Date;
  /** Whether its values differ from entry to entry, so that a dictionary of them is not worth trying. */
  differs?: true;
  /** Whether readers find entries by it: then each row group tells its lowest and highest value. */
  sorted?: true;
}

function listColumns(account: Id<'user'>, withDetails: boolean): Column[] {
  const columns: Column[] = [
    { element: text('id'), read: ({ id }) => id, differs: true },
    {
      element: { name: 'sequence', type: 'INT64', repetition_type: 'REQUIRED' },
      read: ({ sequence }) => BigInt(sequence),
      differs: true,
      sorted: true,
    },
    { element: text('user_id'), read: () => account },
    { element: text('agent_id'), read: ({ agentId }) => agentId },
    { element: text('permission_request_id'), read: ({ permission }) => permission, differs: true },
    { element: text('event_type'), read: ({ event }) => event },
    { element: text('action'), read: ({ action }) => action },
    { element: text('resource'), read: ({ resource }) => resource },
    { element: text('ip_address'), read: ({ ipAddress }) => ipAddress },
    { element: text('user_agent'), read: ({ userAgent }) => userAgent },
    { element: created, read: ({ createdAt }) => new Date(createdAt), differs: true, sorted: true },
  ];
  return withDetails
    ? [...columns, { element: text('details'), read: ({ details }) => details, differs: true }]
    : columns;
}

/** Encodes entries as Parquet, a row group at a time; between two of them the work can be saved. */
export class ParquetEncoding implements Encoder {
  rows = 0;
  private waiting: ExportedEntry[] = [];
  private characters = 0;
  private readonly columns: Column[];
  private readonly bytes = new ByteWriter();
  private readonly writer: ParquetWriter;

  constructor(account: Id<'user'>, withDetails: boolean, saved: Json) {
    this.columns = listColumns(account, withDetails);
    this.writer = new ParquetWriter({
      writer: this.bytes,
      schema: [{ name: 'root', num_children: this.columns.length }, ...this.columns.map(({ element }) => element)],
      codec: 'ZSTD',
      compressors: { ZSTD: compress },
      createdBy: 'countersign',
    });
    if (saved !== null) {
      const { groups, rows, offset } = fromTaggedJson(saved) as Saved;
      this.writer.row_groups = groups;
      this.writer.num_rows = rows;
      // What the writer began the file with is in the bytes before.
      this.bytes.index = 0;
      this.bytes.offset = offset;
    }
  }

  get wanted(): number {
    return Math.max(FEWEST_WANTED, GROUP_ROWS - this.waiting.length);
  }

  get held(): ExportedEntry | undefined {
    return this.waiting[0];
  }

  add(entries: ExportedEntry[]): Uint8Array[] {
    const chunks: Uint8Array[] = [];
    for (const entry of entries) {
      this.waiting.push(entry);
      this.characters += entry.details.length + entry.resource.length + entry.userAgent.length;
      if (this.waiting.length >= GROUP_ROWS || this.characters >= GROUP_CHARACTERS) chunks.push(this.writeGroup());
    }
    return chunks;
  }

  end(): Uint8Array[] {
    const last = this.waiting.length > 0 ? [this.writeGroup()] : [];
    this.writer.finish();
    return [...last, this.takeBytes()];
  }

  save(): Json {
    const { row_groups: groups, num_rows: rows } = this.writer;
    return toTaggedJson({ groups, rows, offset: this.bytes.offset } satisfies Saved);
  }

  private writeGroup(): Uint8Array {
    const entries = this.waiting;
    const columnData = this.columns.map(({ element: { name }, read, differs, sorted = false }) => ({
      name,
      data: entries.map(read),
      ...(differs && { encoding: 'PLAIN' as const }),
      statistics: sorted,
      offsetIndex: false,
    }));
    this.writer.write({ columnData, rowGroupSize: entries.length, pageSize: PAGE_SIZE, dictionarySize: PAGE_SIZE });
    this.rows += entries.length;
    this.waiting = [];
    this.characters = 0;
    return this.takeBytes();
  }

  private takeBytes(): Uint8Array {
    const bytes = this.bytes.getBytes().slice();
    this.bytes.index = 0;
    return bytes;
  }
}

/** A page that a value made larger, and that the runtime cannot compress, is stored as it is. */
function compress(page: Uint8Array): Uint8Array {
  try {
    return zstdCompressSync(page);
  } catch {
    return storedZstdFrame(page);
  }
}
