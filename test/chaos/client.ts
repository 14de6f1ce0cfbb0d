import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '../support/local/restartable-service.ts';
import type { Certainty } from './memory.ts';

export interface Answer<T> {
  status: number;
  body: T;
}

/**
 * The answer to a call, or null if the answer was lost: then the call may or may not have taken
 * effect.
 */
export type Outcome<T> = Answer<T> | null;

/** Whether a call took effect, as far as its outcome shows. */
export function certaintyOf(outcome: Outcome<unknown>): Certainty {
  if (outcome === null) return 'lost';
  return outcome.status < 400 ? 'done' : 'refused';
}

export const counts = { requests: 0, lost: 0, replays: 0, refused: 0 };

const ATTEMPTS = 20;
/** Delay after an answer with Retry-After, for example of a moving account, in milliseconds. */
const RETRY_DELAY = 500;
/**
 * Delay after a 401 to a token of single sign-on: the service fetches unknown keys at most twice a
 * minute.
 */
const KEY_RETRY_DELAY = 3_000;

/**
 * A credential, or a function that gets the current one, whose key the service may not know yet.
 */
export type Credential = string | (() => Promise<string>);

/** Calls the service with one credential. */
export class Client {
  private readonly service: Service;
  private readonly credential: Credential;

  constructor(service: Service, credential: Credential) {
    this.service = service;
    this.credential = credential;
  }

  /** Calls once; null if the answer is lost or a server error. */
  async ask<T>(method: string, path: string, body?: object, key?: string): Promise<Outcome<T>> {
    await this.service.untilUp();
    const isRenewed = typeof this.credential === 'function';
    const credential =
      typeof this.credential === 'function' ? await this.credential() : this.credential;
    counts.requests += 1;
    try {
      const response = await fetch(this.service.origin + path, {
        method,
        signal: AbortSignal.timeout(60_000),
        headers: {
          Authorization: `Bearer ${credential}`,
          ...(body && { 'Content-Type': 'application/json' }),
          ...(key && { 'Idempotency-Key': key }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.headers.get('Idempotent-Replayed')) counts.replays += 1;
      if (isRenewed && response.status === 401) {
        await sleep(KEY_RETRY_DELAY);
        throw new Error(text);
      }
      if (response.status >= 500) {
        if (response.headers.get('Retry-After')) await sleep(RETRY_DELAY);
        throw new Error(text);
      }
      if (response.status >= 400) counts.refused += 1;
      return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T };
    } catch {
      counts.lost += 1;
      return null;
    }
  }

  /** Repeats an idempotent call until an answer comes; null if none comes. */
  async repeat<T>(method: string, path: string, body?: object): Promise<Outcome<T>> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const outcome = await this.ask<T>(method, path, body);
      if (outcome) return outcome;
    }
    return null;
  }

  /**
   * Repeats a call with an idempotency key until an answer comes; `twice` sends each attempt twice
   * concurrently. Null if the answer does not show whether an earlier attempt with a lost answer
   * took effect.
   */
  async insist<T>(method: string, path: string, body: object, twice = false): Promise<Outcome<T>> {
    const key = randomUUID();
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const answers = await Promise.all([
        this.ask<T>(method, path, body, key),
        ...(twice ? [this.ask<T>(method, path, body, key)] : []),
      ]);
      const [first, second] = answers.filter(
        (answer) => answer !== null && answer.status < 400,
      ) as Answer<T>[];
      if (first && second && JSON.stringify(first.body) !== JSON.stringify(second.body)) {
        throw new Error(
          `one key, two answers: ${JSON.stringify(first.body)} and ${JSON.stringify(second.body)}`,
        );
      }
      if (first) return first;
      if (answers.every((answer) => answer !== null))
        return attempt === 0 ? (answers[0] ?? null) : null;
    }
    return null;
  }
}
