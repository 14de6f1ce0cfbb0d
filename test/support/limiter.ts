/** What a test may take of a window. */
const LONGEST_TEST = 5_000;
const WINDOW = 60_000;

/**
 * Waits until a test has time enough in one window of `LIMITER_OF_3`. The limiters count by the minutes of the real
 * clock: what begins in one must not end in the next.
 */
export async function awaitWindow(): Promise<void> {
  const left = WINDOW - (Date.now() % WINDOW);
  if (left < LONGEST_TEST) await scheduler.wait(left);
}
