import type { RowGroup } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Json } from '../../lib/json';
import { fromTaggedJson, toTaggedJson } from '../../lib/tagged-json';
import type { Id } from '../../lib/typeid';
import type { Encoder } from './encoder';
import { type Column, listColumns } from './parquet-columns';
import type { ExportedEntry } from './source';

/** A row group is buffered until it has this many entries, or this many characters of text. */
const GROUP_ROWS = 16_384;
const GROUP_CHARACTERS = 8 * 2 ** 20;
/**
 * Minimum of `maxEntries`, even if the row group needs fewer: small reads cost more than reading
 * some entries twice.
 */
const MIN_ENTRIES = 256;

interface Saved {
  groups: RowGroup[];
  rows: bigint;
  offset: number;
}

/**
 * Encodes entries as Parquet, one row group at a time. Its state can be saved between two row
 * groups.
 */
export class ParquetEncoding implements Encoder {
  rows = 0;
  private buffered: ExportedEntry[] = [];
  private characters = 0;
  private readonly columns: Column[];
  private readonly bytes = new ByteWriter();
  private readonly writer: ParquetWriter;

  constructor(account: Id<'user'>, withDetails: boolean, saved: Json) {
    this.columns = listColumns(account, withDetails);
    this.writer = new ParquetWriter({
      writer: this.bytes,
      schema: [
        { name: 'root', num_children: this.columns.length },
        ...this.columns.map(({ element }) => element),
      ],
      createdBy: 'countersign',
    });
    if (saved !== null) {
      const { groups, rows, offset } = fromTaggedJson(saved) as Saved;
      this.writer.row_groups = groups;
      this.writer.num_rows = rows;
      // Drops the magic bytes that begin a file: the earlier encoder returned them.
      this.bytes.index = 0;
      this.bytes.offset = offset;
    }
  }

  get maxEntries(): number {
    return Math.max(MIN_ENTRIES, GROUP_ROWS - this.buffered.length);
  }

  get firstBuffered(): ExportedEntry | undefined {
    return this.buffered[0];
  }

  add(entries: ExportedEntry[]): Uint8Array[] {
    const chunks: Uint8Array[] = [];
    for (const entry of entries) {
      this.buffered.push(entry);
      this.characters += entry.details.length + entry.resource.length + entry.userAgent.length;
      if (this.buffered.length >= GROUP_ROWS || this.characters >= GROUP_CHARACTERS)
        chunks.push(this.writeGroup());
    }
    return chunks;
  }

  flush(): Uint8Array[] {
    if (this.buffered.length === 0) return [];
    return [this.writeGroup()];
  }

  end(): Uint8Array[] {
    const chunks = this.flush();
    this.writer.finish();
    const footer = this.takeBytes();
    if (this.writer.row_groups.length === 0) typeEmptyRowGroups(footer);
    chunks.push(footer);
    return chunks;
  }

  save(): Json {
    const { row_groups: groups, num_rows: rows } = this.writer;
    return toTaggedJson({ groups, rows, offset: this.bytes.offset } satisfies Saved);
  }

  private writeGroup(): Uint8Array {
    const entries = this.buffered;
    const start = this.bytes.offset;
    const columns = this.columns.map((column) => column.write(this.bytes, entries));
    const sizes = columns.map(({ meta_data }) => meta_data?.total_uncompressed_size ?? 0n);
    this.writer.row_groups.push({
      columns,
      total_byte_size: sizes.reduce((sum, size) => sum + size, 0n),
      num_rows: BigInt(entries.length),
      total_compressed_size: BigInt(this.bytes.offset - start),
    });
    this.writer.num_rows += BigInt(entries.length);
    this.rows += entries.length;
    this.buffered = [];
    this.characters = 0;
    return this.takeBytes();
  }

  private takeBytes(): Uint8Array {
    const bytes = this.bytes.getBytes().slice();
    this.bytes.index = 0;
    return bytes;
  }
}

/**
 * Two fields of the footer in Thrift's compact protocol: no rows, and a list of no row groups with
 * elements of no type.
 */
const NO_ROW_GROUPS = [0x16, 0x00, 0x19, 0x00];
const TYPE_STRUCT = 0x0c;

/**
 * Gives the empty list of row groups in a footer its element type, which strict readers such as
 * arrow-rs demand. The library takes the type from the first element. Every other list that it
 * writes has elements.
 */
function typeEmptyRowGroups(footer: Uint8Array): void {
  const start = footer.findIndex((_, at) =>
    NO_ROW_GROUPS.every((byte, i) => footer[at + i] === byte),
  );
  if (start !== -1) footer[start + NO_ROW_GROUPS.length - 1] = TYPE_STRUCT;
}
