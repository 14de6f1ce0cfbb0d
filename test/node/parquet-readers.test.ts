import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import * as arrow from 'parquet-wasm/node';
import { afterAll, describe, expect, it } from 'vitest';
import { ParquetEncoding } from '../../src/audit/exports/parquet';
import type { ExportedEntry } from '../../src/audit/exports/source';
import type { Id } from '../../src/lib/typeid';
import { depth } from '../support/depth';

const folder = mkdtempSync(join(tmpdir(), 'countersign-parquet-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ACCOUNT = 'user_01k0000000e7m8qp0w9mmzt5s3' as Id<'user'>;
const COLUMNS = [
  ...[
    'id',
    'sequence',
    'user_id',
    'agent_id',
    'permission_request_id',
    'event_type',
    'action',
    'resource',
  ],
  ...['ip_address', 'user_agent', 'created_at'],
];

/** An entry with text that is easily damaged. A resource of `length` characters. */
function makeEntry(sequence: number, length: number): ExportedEntry {
  const text = `😀 größer\n"${sequence}"`;
  return {
    id: `audit_${sequence}`,
    sequence,
    agentId: `agent_${sequence % 3}`,
    permission: `perm_${sequence}`,
    event: 'request',
    action: 'email.send',
    resource: `mailbox:${text}${'x'.repeat(length)}`,
    ipAddress: '',
    userAgent: text,
    createdAt: 1_767_225_600_000 + sequence,
    details: JSON.stringify({ text }),
  } as unknown as ExportedEntry;
}

function encode(entries: ExportedEntry[], withDetails: boolean): Uint8Array {
  const encoding = new ParquetEncoding(ACCOUNT, withDetails, null);
  return new Uint8Array(Buffer.concat([...encoding.add(entries), ...encoding.end()]));
}

/** The row that every reader must find for an entry. */
function expectedRow(entry: ExportedEntry, withDetails: boolean) {
  const {
    id,
    sequence,
    agentId,
    permission,
    event,
    action,
    resource,
    ipAddress,
    userAgent,
    createdAt,
    details,
  } = entry;
  const values = [
    id,
    sequence,
    ACCOUNT,
    agentId,
    permission,
    event,
    action,
    resource,
    ipAddress,
    userAgent,
    createdAt,
  ];
  const row = Object.fromEntries(COLUMNS.map((name, i) => [name, values[i]]));
  return withDetails ? { ...row, details } : row;
}

interface Contents {
  columns: string[];
  rows: object[];
}

async function readWithHyparquet(bytes: Uint8Array): Promise<Contents> {
  const file = Uint8Array.from(bytes).buffer;
  const compressors = { ZSTD: (page: Uint8Array) => new Uint8Array(zstdDecompressSync(page)) };
  const rows = await parquetReadObjects({ file, compressors });
  const [, ...elements] = parquetMetadata(file).schema;
  const columns = elements.map(({ name }) => name);
  const plain = rows.map((row) => ({
    ...row,
    sequence: Number(row.sequence),
    created_at: Number(row.created_at),
  }));
  return { columns, rows: plain };
}

async function readWithDuckDb(bytes: Uint8Array): Promise<Contents> {
  const path = join(folder, 'export.parquet');
  writeFileSync(path, bytes);
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const reader = await connection.runAndReadAll(
    `select * replace (epoch_ms(created_at)::double as created_at, sequence::double as sequence) from '${path}'`,
  );
  const contents = { columns: reader.columnNames(), rows: reader.getRowObjects() };
  connection.closeSync();
  return contents;
}

/** Reads a file with arrow-rs, which writes what it read to a file that hyparquet reads. */
function readWithArrow(bytes: Uint8Array): Promise<Contents> {
  const { UNCOMPRESSED } = arrow.Compression;
  const properties = new arrow.WriterPropertiesBuilder().setCompression(UNCOMPRESSED).build();
  return readWithHyparquet(arrow.writeParquet(arrow.readParquet(bytes), properties));
}

const READERS = { hyparquet: readWithHyparquet, DuckDB: readWithDuckDb, 'arrow-rs': readWithArrow };

describe.each(Object.entries(READERS))('%s reads', (_, read) => {
  it.each<[string, boolean, number, number]>(
    depth.cases(
      [
        ['an empty export', false, 0, 0],
        ['an empty export with details', true, 0, 0],
        ['an export of one entry', false, 1, 0],
        ['an export of one entry with details', true, 1, 0],
        ['an export of many pages', false, 9_000, 0],
        ['an export of several row groups with details', true, 17_000, 0],
        ['an export whose texts are larger than a page', true, 3, 100_000],
      ],
      3,
    ),
  )('%s', async (_title, withDetails, count, length) => {
    const entries = Array.from({ length: count }, (_, i) => makeEntry(i + 1, length));
    const { columns, rows } = await read(encode(entries, withDetails));
    expect(columns).toEqual(withDetails ? [...COLUMNS, 'details'] : COLUMNS);
    expect(rows).toEqual(entries.map((entry) => expectedRow(entry, withDetails)));
  });
});
