import { setTimeout as sleep } from 'node:timers/promises';

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
  readonly #origin: string;
  readonly #credential: string;

  constructor(origin: string, credential: string) {
    this.#origin = origin;
    this.#credential = credential;
  }

  /** Sends a request and answers whatever comes; waits and repeats where the service asks to slow down. */
  async ask<T>(method: string, path: string, body?: object): Promise<Answer<T>> {
    for (;;) {
      const response = await fetch(this.#origin + path, {
        method,
        headers: {
          Authorization: `Bearer ${this.#credential}`,
          ...(body && { 'Content-Type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.status === 429) await sleep(1_000 * Number(response.headers.get('Retry-After') ?? 1));
      else return { status: response.status, body: text === '' ? null : JSON.parse(text) };
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
