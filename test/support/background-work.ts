/** The work that continues after the answer to a request. */
export class BackgroundWork {
  private started: Promise<unknown>[] = [];

  /**
   * For the service. That of `cloudflare:test` starts a timer and takes a stack trace for every
   * request.
   */
  readonly context = {
    waitUntil: (work: Promise<unknown>) => {
      this.started.push(work);
    },
    passThroughOnException() {},
  } as unknown as ExecutionContext;

  /** Waits for all work, also for that which other work starts. */
  async finish(): Promise<void> {
    while (this.started.length > 0) await Promise.all(this.started.splice(0));
  }
}
