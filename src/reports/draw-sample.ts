import { eq, sql } from 'drizzle-orm';
import {
  type AuditEntry,
  type EntryRow,
  entryColumns,
  isAgentOfEntry,
  presentEntry,
} from '../audit/entry';
import type { PositionRange } from '../audit/find-file-range';
import type { Reader } from '../db/database';
import { agents, auditEntries } from '../db/schema';
import type { AccountRef } from '../http/context';
import { sha256 } from '../lib/bytes';

/** Maximum number of entries in a sample. */
export const SAMPLE_SIZE = 25;

/** Positions drawn at a time and read in one query. */
const BATCH = 200;

/**
 * Maximum number of draws. A sample stays smaller if almost all entries of the period were erased.
 */
export const MAX_DRAWS = 50 * BATCH;

/**
 * Draws a sample of a period's entries that anybody can draw again: draw n, from 0, is the position
 * `low` plus the first 48 bits of SHA-256(`<report id>:<n>`) modulo the number of positions.
 * Positions already drawn, erased entries and entries of deleted agents are skipped.
 * @param reportId in the form of the API
 * @returns the entries in the order in which they were drawn
 */
export async function drawSample(
  reader: Reader,
  account: Pick<AccountRef, 'number' | 'id'>,
  { low, high }: PositionRange,
  reportId: string,
): Promise<AuditEntry[]> {
  const size = high - low;
  const drawn = new Set<number>();
  const sample: AuditEntry[] = [];
  for (let n = 0; n < MAX_DRAWS && sample.length < SAMPLE_SIZE && drawn.size < size; n += BATCH) {
    const draws = Array.from({ length: BATCH }, (_, i) => drawNumber(`${reportId}:${n + i}`));
    const positions: number[] = [];
    for (const draw of await Promise.all(draws)) {
      const position = low + (draw % size);
      if (!drawn.has(position)) positions.push(position);
      drawn.add(position);
    }
    const rows = await readEntries(reader, positions);
    const found = new Map(rows.map((row) => [row.pos, presentEntry(account, row)]));
    sample.push(...positions.flatMap((position) => found.get(position) ?? []));
  }
  return sample.slice(0, SAMPLE_SIZE);
}

/** The first 48 bits of the SHA-256 of a text, as a number. */
async function drawNumber(text: string): Promise<number> {
  const hash = await sha256(text);
  return hash.subarray(0, 6).reduce((value, byte) => value * 256 + byte, 0);
}

async function readEntries(reader: Reader, positions: number[]): Promise<EntryRow[]> {
  const [rows] = await reader.load([
    reader
      .select(entryColumns)
      .from(sql`json_each(${JSON.stringify(positions)}) as wanted`)
      .crossJoin(auditEntries)
      .innerJoin(agents, isAgentOfEntry)
      .where(eq(auditEntries.pos, sql`wanted.value`)),
  ]);
  return rows;
}
