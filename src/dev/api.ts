import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds for which a request is repeated while the service is unavailable. */
const RETRY_LIMIT = 60_000;

export interface ApiAnswer<T> {
  status: number;
  body: T;
}

/** The fields of a problem document (RFC 9457) that the programs show. */
export interface ProblemDocument {
  code: string;
  detail: string;
  reason?: string;
}

/** The program cannot continue with the answer that the service gave. */
export class UnexpectedAnswer extends Error {
  constructor(method: string, path: string, { status, body }: ApiAnswer<unknown>) {
    super(`${method} ${path} was answered ${status}: ${JSON.stringify(body)}`);
  }
}

/** A client of the service's API with one credential. */
export class Api {
  private readonly origin: string;
  private readonly credential: string;

  constructor(origin: string, credential: string) {
    this.origin = origin;
    this.credential = credential;
  }

  /**
   * Sends a request and returns the answer, whatever its status.
   *
   * Repeats the request after `Retry-After`: without limit while the service answers 429, and for a minute while it
   * answers 503, for example because another program has locked the database. A POST has an idempotency key, so that it
   * takes effect only once.
   * @param key the idempotency key of a POST; by default a new one
   */
  async ask<T>(method: string, path: string, body?: object, key: string = randomUUID()): Promise<ApiAnswer<T>> {
    const headers = {
      Authorization: `Bearer ${this.credential}`,
      ...(body && { 'Content-Type': 'application/json' }),
      ...(method === 'POST' && { 'Idempotency-Key': key }),
    };
    const request = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    for (const deadline = Date.now() + RETRY_LIMIT; ; ) {
      const response = await fetch(this.origin + path, request);
      const text = await response.text();
      const wait = 1_000 * Number(response.headers.get('Retry-After') ?? 1);
      const isRepeated = response.status === 429 || (response.status === 503 && Date.now() + wait <= deadline);
      if (!isRepeated) return { status: response.status, body: text === '' ? null : JSON.parse(text) };
      await sleep(wait);
    }
  }

  /**
   * Sends a request and returns the body of the answer.
   * @throws UnexpectedAnswer if the status is 300 or more
   */
  async call<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await this.ask<T>(method, path, body);
    if (answer.status >= 300) throw new UnexpectedAnswer(method, path, answer);
    return answer.body;
  }

  /** Yields the items of a list that match the filters. Fetches the pages as they are needed. */
  async *list<T>(path: string, filters: Record<string, string> = {}): AsyncGenerator<T, void> {
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query = new URLSearchParams({ ...filters, limit: '100', ...(cursor && { cursor }) });
      const page: { data: T[]; next_cursor: string | null } = await this.call('GET', `${path}?${query}`);
      yield* page.data;
      cursor = page.next_cursor;
    }
  }
}
