/** A seeded source of pseudo-random numbers, so that every run draws the same numbers. */
export interface Random {
  /** A number from 0 up to, but not including, 1. */
  next(): number;
  /** A whole number from 0 up to, but not including, `bound`. */
  below(bound: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  /** One of the items, all with the same probability; there must be at least one. */
  pick<T>(items: readonly T[]): T;
}

/** mulberry32: 32 bits of state, good enough to spread test data. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound: number) => Math.floor(next() * bound);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (items) => items[below(items.length)] as (typeof items)[number],
  };
}

/**
 * A rank from 0 to `count - 1`: in half of the cases one of the first five, which are the frequent
 * ones.
 */
export function anyRank(random: Random, count: number): number {
  return random.below(random.chance(0.5) ? Math.min(5, count) : count);
}

/** Draws ranks from 0 to `count - 1` by Zipf's law: rank r is as likely as 1 / (r + 1)^exponent. */
export function zipf(random: Random, count: number, exponent: number): () => number {
  const cumulated = new Float64Array(count);
  let total = 0;
  for (let rank = 0; rank < count; rank++) {
    total += 1 / (rank + 1) ** exponent;
    cumulated[rank] = total;
  }
  return () => {
    const drawn = random.next() * total;
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((cumulated[middle] as number) <= drawn) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}
