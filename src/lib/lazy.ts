import type * as z from 'zod';

/**
 * Returns a function that makes a value on its first call, and returns the same value on later
 * calls. Schemas of requests and responses are lazy: a request needs one or two, and making all of
 * them would lengthen the Worker's start by half.
 */
export function lazy<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** The output of a lazy schema. */
export type LazyOutput<Schema extends () => z.ZodType> = z.output<ReturnType<Schema>>;
