import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** How long a request is repeated that the service cannot answer, in milliseconds. */
const RETRY_LIMIT = 60_000;

/** An answer of the service. */
export interface Answer<T> {
  status: number;
  body: T;
}

/** The body of a refusal (RFC 9457), as far as it is shown. */
export interface Refusal {
  code: string;
  detail: string;
  reason?: string;
}

/** An answer that a step cannot go on with. */
export class UnexpectedAnswer extends Error {
  constructor(method: string, path: string, { status, body }: Answer<unknown>) {
    super(`${method} ${path} was answered ${status}: ${JSON.stringify(body)}`);
  }
}

/** The service as one bearer sees it. */
export class Api {
  private readonly origin: string;
  private readonly credential: string;

  constructor(origin: string, credential: string) {
    this.origin = origin;
    this.credential = credential;
  }

  /**
   * Sends a request, and answers whatever comes.
   *
   * Repeats it after `Retry-After`: for as long as the service limits the rate, and for a minute while it cannot answer,
   * as when another program has its database locked. A POST carries an idempotency key, so that a repetition changes
   * nothing a second time.
   */
  async ask<T>(method: string, path: string, body?: object): Promise<Answer<T>> {
    const headers = {
      Authorization: `Bearer ${this.credential}`,
      ...(body && { 'Content-Type': 'application/json' }),
      ...(method === 'POST' && { 'Idempotency-Key': randomUUID() }),
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
   * Sends a request that has to succeed; answers the body.
   * @throws UnexpectedAnswer for a status of 300 or more
   */
  async call<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await this.ask<T>(method, path, body);
    if (answer.status >= 300) throw new UnexpectedAnswer(method, path, answer);
    return answer.body;
  }
}
