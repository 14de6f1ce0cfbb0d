/** Tells the time and waits; replace it in tests. */
export interface Clock {
  /** The time in milliseconds since 1970. */
  now(): number;
  /**
   * Resolves after so many milliseconds; rejects with the signal's reason when that is aborted
   * first.
   */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** The real time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const abort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', abort);
        resolve();
      }, milliseconds);
      signal?.addEventListener('abort', abort, { once: true });
    }),
};
