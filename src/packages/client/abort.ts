/**
 * Settles as the task does, or rejects with the reason of the first signal that is aborted. The
 * task goes on then, and what becomes of it is ignored.
 *
 * The signals are listened to here although the task has them too: in Node 20 a fetch whose signal
 * is aborted while a compressed answer is read can stay pending for ever.
 */
export function raceSignals<T>(task: Promise<T>, signals: AbortSignal[]): Promise<T> {
  const listening = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    for (const signal of signals) {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason), { signal: listening.signal });
    }
  });
  return Promise.race([task, aborted]).finally(() => listening.abort());
}

/** Returns an answer whose body fails with the reason of the signal as soon as that is aborted. */
export function endWithSignal(response: Response, signal: AbortSignal): Response {
  if (!response.body) return response;
  const { status, statusText, headers } = response;
  const reader = response.body.getReader();
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const { done, value } = await raceSignals(reader.read(), [signal]);
    if (done) controller.close();
    else controller.enqueue(value);
  };
  const cancel = (reason: unknown) => reader.cancel(reason);
  const body = new ReadableStream<Uint8Array>({ pull, cancel }, { highWaterMark: 0 });
  return new Response(body, { status, statusText, headers });
}
