import type { ERASURE_REASONS } from '../db/schema';
import type { Id } from '../lib/typeid';

/** Ranges of sequence numbers in ascending order, each with its first and last. */
export type SequenceRanges = [first: number, last: number][];

/** Entries of a log that are erased together, and why. */
export interface ErasedEntries {
  account: Id<'user'>;
  reason: (typeof ERASURE_REASONS)[number];
  ranges: SequenceRanges;
  /** Milliseconds since the epoch. */
  erasedAt: number;
}

/**
 * Signs the record of an erasure as a note, so that write access to the database alone cannot forge
 * one.
 */
export type SignErasure = (erased: ErasedEntries) => Promise<string>;

/** Groups sequence numbers, given in ascending order, into ranges. */
export function rangesOf(sequences: readonly number[]): SequenceRanges {
  const ranges: SequenceRanges = [];
  for (const sequence of sequences) {
    const last = ranges.at(-1);
    if (last?.[1] === sequence - 1) last[1] = sequence;
    else ranges.push([sequence, sequence]);
  }
  return ranges;
}
