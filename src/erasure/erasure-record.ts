import type { ERASURE_REASONS } from '../db/schema';
import type { Id } from '../lib/typeid';

/** Sequences, in ascending order: pairs of a first and a last one. */
export type SequenceRanges = [first: number, last: number][];

/** What is erased of an account's log. */
export interface ErasedRanges {
  account: Id<'user'>;
  reason: (typeof ERASURE_REASONS)[number];
  ranges: SequenceRanges;
  /** Milliseconds since the epoch. */
  erasedAt: number;
}

/** Signs the record of an erasure: who can only write to the database can make none. */
export type SignErasure = (erased: ErasedRanges) => Promise<string>;

/** Sequences in ascending order as ranges. */
export function rangesOf(sequences: readonly number[]): SequenceRanges {
  const ranges: SequenceRanges = [];
  for (const sequence of sequences) {
    const last = ranges.at(-1);
    if (last?.[1] === sequence - 1) last[1] = sequence;
    else ranges.push([sequence, sequence]);
  }
  return ranges;
}
