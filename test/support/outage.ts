import type { Runtime } from '../../src/env';

/**
 * How a call fails: before it does anything, or after it has taken effect, when only the answer is
 * lost. A kill ends the caller, so all later calls fail as well.
 */
export type OutageMode = 'before' | 'after' | 'kill before' | 'kill after';

/**
 * Counts the calls to a database, a bucket, queues and other services, and fails one of them or
 * runs something before it.
 */
export class Outage {
  calls = 0;
  /** Whether the planned failure has happened. */
  hasFailed = false;
  private plan: { call: number; mode: OutageMode } | null = null;
  private meanwhile: { call: number; happens: () => Promise<unknown> } | null = null;
  private isDead = false;

  /**
   * Restarts the count of calls, and fails the call with this number, counted from 1; null fails
   * none. Nothing runs before a call any more.
   */
  arm(plan: { call: number; mode: OutageMode } | null): void {
    this.calls = 0;
    this.meanwhile = null;
    this.hasFailed = false;
    this.plan = plan;
    this.isDead = false;
  }

  /**
   * Restarts the count of calls, and runs something before the call with this number, counted from
   * 1.
   */
  before(call: number, happens: () => Promise<unknown>): void {
    this.arm(null);
    this.meanwhile = { call, happens };
  }

  /** A real database behind the outage. */
  database(database: D1Database): D1Database {
    return {
      prepare: (sql: string) => database.prepare(sql),
      batch: (statements: D1PreparedStatement[]) => this.call(() => database.batch(statements)),
    } as unknown as D1Database;
  }

  /** A bucket behind the outage. */
  bucket(bucket: R2Bucket): R2Bucket {
    const through =
      <A extends unknown[], R>(method: (...args: A) => Promise<R>) =>
      (...args: A) =>
        this.call(() => method(...args));
    return {
      put: through((key: string, value: ArrayBuffer, options?: R2PutOptions) =>
        bucket.put(key, value, options),
      ),
      get: through((key: string, options?: R2GetOptions) => bucket.get(key, options)),
      head: through((key: string) => bucket.head(key)),
      list: through((options?: R2ListOptions) => bucket.list(options)),
      delete: through((keys: string | string[]) => bucket.delete(keys)),
      createMultipartUpload: through((key: string) => bucket.createMultipartUpload(key)),
      resumeMultipartUpload: (key: string, id: string) => {
        const upload = bucket.resumeMultipartUpload(key, id);
        return {
          uploadPart: through((part: number, value: Uint8Array) => upload.uploadPart(part, value)),
          complete: through((parts: R2UploadedPart[]) => upload.complete(parts)),
          abort: through(() => upload.abort()),
        };
      },
    } as unknown as R2Bucket;
  }

  /** A queue behind the outage. */
  queue<M>(queue: Queue<M>): Queue<M> {
    return {
      send: (body: M, options?: QueueSendOptions) => this.call(() => queue.send(body, options)),
      sendBatch: (messages: Iterable<MessageSendRequest<M>>) =>
        this.call(() => queue.sendBatch(messages)),
    } as unknown as Queue<M>;
  }

  /** Requests to other services behind the outage. */
  fetch(fetch: Runtime['fetch']): Runtime['fetch'] {
    return (url, options) => this.call(() => fetch(url, options));
  }

  private async call<R>(act: () => Promise<R>): Promise<R> {
    this.calls += 1;
    const { meanwhile } = this;
    if (meanwhile?.call === this.calls) {
      this.meanwhile = null;
      await meanwhile.happens();
    }
    const mode = this.plan?.call === this.calls ? this.plan.mode : null;
    if (this.isDead) throw new Error('the process is dead');
    if (mode) this.hasFailed = true;
    if (mode?.startsWith('kill')) this.isDead = true;
    if (mode?.endsWith('before')) throw new Error('Network connection lost.');
    const result = await act();
    if (mode) throw new Error('Network connection lost.');
    return result;
  }
}
