import { eq, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { agents, auditEntries } from '../../db/schema';
import type { AccountRef } from '../../http/context';
import { sha256 } from '../../lib/bytes';
import { type EntryRow, entryColumns, isAgentOfEntry, presentEntry } from '../entry';
import type { PositionRange } from '../find-file-range';
import type { SampledEntry } from './content';

/** The size of a sample; smaller if the period has fewer entries. */
export const SAMPLE_SIZE = 25;

/** Positions read in one query. */
const BATCH = 200;
const MAX_BATCHES = 50;

/** Limit of draws. A sample stays small if almost all entries of the period were erased. */
export const MAX_DRAWS = BATCH * MAX_BATCHES;

/** How much of a hash a draw uses: 48 bits. */
const DRAW_BYTES = 6;

/**
 * Draws a sample that anybody can draw again: draw n, from 0, is the first 48 bits of SHA-256(`<report id>:<n>`) modulo
 * the number of positions. Positions already drawn, erased entries and entries of deleted agents are skipped.
 * @param seed the report's id
 * @returns the entries in the order in which they were drawn
 */
export async function drawSample(
  reader: Reader,
  account: Pick<AccountRef, 'number' | 'id'>,
  { low, high }: PositionRange,
  seed: string,
): Promise<SampledEntry[]> {
  const size = high - low;
  const drawn = new Set<number>();
  const sample: SampledEntry[] = [];
  for (let batch = 0; batch < MAX_BATCHES && sample.length < SAMPLE_SIZE && drawn.size < size; batch++) {
    const numbers = Array.from({ length: BATCH }, (_, i) => batch * BATCH + i);
    const draws = await Promise.all(numbers.map(async (n) => low + ((await draw(seed, n)) % size)));
    const positions = [...new Set(draws)].filter((position) => !drawn.has(position));
    for (const position of positions) drawn.add(position);
    const rows = await readEntries(reader, positions);
    const found = new Map(rows.map((row) => [row.pos, row]));
    sample.push(...positions.flatMap((position) => found.get(position) ?? []).map((row) => presentEntry(account, row)));
  }
  return sample.slice(0, SAMPLE_SIZE);
}

async function draw(seed: string, n: number): Promise<number> {
  const hash = await sha256(`${seed}:${n}`);
  return hash.subarray(0, DRAW_BYTES).reduce((value, byte) => value * 256 + byte, 0);
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
