import { inject } from 'vitest';

/**
 * How thorough a run is: `npm test` is shallow, `npm run test:deep` is deep, and `npm run faults`
 * is exhaustive. The mode of Vitest sets it.
 */
export type Depth = 'shallow' | 'deep' | 'exhaustive';

declare module 'vitest' {
  interface ProvidedContext {
    depth: Depth;
  }
}

const current = inject('depth');

/** The only place that tells tests how many runs, samples or steps they take. */
export const depth = {
  /** Whether every single call fails in turn, instead of a sample of them. */
  isExhaustive: current === 'exhaustive',

  /** Whether tests of large numbers run: `it.runIf(depth.isDeep)`. */
  isDeep: current !== 'shallow',

  /** The first number in a shallow run, the second in a deep or exhaustive one. */
  runs(shallow: number, deep: number): number {
    return current === 'shallow' ? shallow : deep;
  },

  /**
   * All cases in a deep or exhaustive run; in a shallow one every n-th case, beginning with the
   * first.
   */
  cases<T>(all: readonly T[], every: number): T[] {
    return current === 'shallow' ? all.filter((_, i) => i % every === 0) : [...all];
  },
};
