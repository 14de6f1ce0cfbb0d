import { eq, sql } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import { agents, auditEntries } from '../../db/schema';
import type { AccountRef } from '../../http/context';
import { sha256 } from '../../lib/bytes';
import { type EntryRow, entryAgent, entryColumns, presentEntry } from '../entry';
import type { PositionRange } from '../find-file-range';
import type { SampledEntry } from './report';

/** How many entries a sample has, where there are as many. */
export const SAMPLE_SIZE = 25;

/** Positions that are looked at together, and how often: where almost everything was erased a sample may stay small. */
const BATCH = 200;
const MAX_BATCHES = 50;

/** After so many draws a sample is over. */
export const MAX_DRAWS = BATCH * MAX_BATCHES;

/** 48 bits of a hash. */
const DRAW_BYTES = 6;

/**
 * Draws entries by an order that the report's identifier determines, so that anybody can draw them again: the n-th draw,
 * from 0, is the first 48 bits of SHA-256(`<report id>:<n>`), modulo the number of positions. What was drawn before, was
 * erased or belongs to a deleted agent is passed over.
 * @returns them in the order in which they were drawn
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
      .innerJoin(agents, entryAgent)
      .where(eq(auditEntries.pos, sql`wanted.value`)),
  ]);
  return rows;
}
