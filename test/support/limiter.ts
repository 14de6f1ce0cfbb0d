/** How long a test may take, in milliseconds. */
const LONGEST_TEST = 5_000;
const WINDOW = 60_000;

/**
 * Waits until enough of the current window of `LIMITER_OF_3` is left for a test. The limiters count
 * by minutes of the real clock, so a test must begin and end in the same minute.
 */
export async function awaitWindow(): Promise<void> {
  const left = WINDOW - (Date.now() % WINDOW);
  if (left < LONGEST_TEST) await scheduler.wait(left);
}
