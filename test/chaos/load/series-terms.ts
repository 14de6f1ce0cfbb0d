import type { KnownSeries } from '../memory.ts';

/** The key of the scope that has the mark of a request of a series, as a number. */
export const ACT = 'act';
/** The first request of a series has its number above all others: theirs are lower, so they fit. */
export const FIRST = 1_000_000;

/** The mark in the scope of a request of a series; null for another request. */
export function markOfAct(scope: unknown): string | null {
  const { [ACT]: number } = (scope ?? {}) as { [ACT]?: number };
  return number === undefined ? null : `mark-${number % FIRST}`;
}

/** The series as a request asks for it and an approval gives it. */
export function termsOf({ requests, expires_in }: KnownSeries) {
  return { requests, expires_in, varies: [ACT] };
}
