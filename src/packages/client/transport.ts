import { raceSignals } from './abort.ts';
import type { Call } from './call.ts';
import type { Clock } from './clock.ts';
import { toMilliseconds } from './duration.ts';
import { ApiError, ConnectionError, messageOf } from './errors.ts';

export interface TransportSettings {
  baseUrl: string;
  apiKey: string | undefined;
  fetch: typeof fetch;
  maxRetries: number;
  timeout: number;
  clock: Clock;
}

/**
 * Makes something of a successful answer.
 * @param signal aborted when the call is, or when its time is over
 */
type ReadAnswer<T> = (response: Response, signal: AbortSignal) => Promise<T>;

/** The longest pause that the service can ask for before a retry; a longer one fails the call. */
const MAX_RETRY_AFTER = 60_000;

/** Back-off before the first retry; doubled with each, and at most `MAX_BACK_OFF`. Milliseconds. */
const FIRST_BACK_OFF = 500;
const MAX_BACK_OFF = 8_000;

const RETRIED_STATUSES = new Set([408, 429, 500, 502, 503, 504]);

/** Sends calls, and repeats those that got no answer or one that asks for another attempt. */
export class Transport {
  readonly settings: TransportSettings;

  constructor(settings: TransportSettings) {
    this.settings = settings;
  }

  /**
   * Returns what `read` makes of the successful answer of a call. Every POST has an idempotency
   * key, the same in all attempts, so that a repetition changes nothing twice.
   * @param read reads the answer's body; if that fails, the call is repeated too
   * @throws ApiError for a refusal
   * @throws ConnectionError when no attempt got an answer that can be read
   * @throws the signal's reason when the call is aborted
   */
  async send<T>(call: Call, read: ReadAnswer<T>): Promise<T> {
    const { maxRetries, clock } = this.settings;
    const retries = call.maxRetries ?? maxRetries;
    const request = this.#describe(call);
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#attempt(call, request, read);
      } catch (error) {
        const pause = pauseBefore(attempt, error);
        if (attempt >= retries || pause === null) throw error;
        await clock.sleep(pause, call.signal);
      }
    }
  }

  async #attempt<T>(
    call: Call,
    { url, ...request }: { url: URL } & RequestInit,
    read: ReadAnswer<T>,
  ): Promise<T> {
    const { fetch, timeout, clock } = this.settings;
    const timer = AbortSignal.timeout(toMilliseconds(call.timeout, 'timeout') ?? timeout);
    const signals = call.signal ? [call.signal, timer] : [timer];
    const signal = AbortSignal.any(signals);
    const answer = async () => {
      const response = await fetch(url, { ...request, signal, redirect: 'manual' });
      if (response.status < 400) return await read(response, signal);
      const body = parse(await response.text());
      throw new ApiError(response, body, readRetryAfter(response, clock.now()));
    };
    try {
      signal.throwIfAborted();
      return await raceSignals(answer(), signals);
    } catch (error) {
      call.signal?.throwIfAborted();
      if (error instanceof ApiError) throw error;
      // The message of a SyntaxError quotes the answer, which may hold a token.
      if (error instanceof SyntaxError)
        throw new ConnectionError(`The answer of ${url.origin} is not JSON.`);
      const message = `No answer from ${url.origin}: ${messageOf(error)}`;
      throw new ConnectionError(message, { cause: error });
    }
  }

  #describe({ method, path, query = {}, body, idempotencyKey }: Call): { url: URL } & RequestInit {
    const { baseUrl, apiKey } = this.settings;
    const url = new URL(baseUrl + path);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
    }
    const headers = new Headers({ Accept: 'application/json' });
    if (apiKey) headers.set('Authorization', `Bearer ${apiKey}`);
    if (method === 'POST') headers.set('Idempotency-Key', idempotencyKey ?? crypto.randomUUID());
    if (body === undefined) return { url, method, headers };
    headers.set('Content-Type', 'application/json');
    return { url, method, headers, body: JSON.stringify(body) };
  }
}

/**
 * Returns the pause before the next attempt in milliseconds; null when another attempt is of no
 * use.
 */
function pauseBefore(attempt: number, failure: unknown): number | null {
  const backOff = Math.min(FIRST_BACK_OFF * 2 ** attempt, MAX_BACK_OFF);
  const pause = backOff * (0.75 + Math.random() / 4);
  if (failure instanceof ConnectionError) return pause;
  if (!(failure instanceof ApiError && RETRIED_STATUSES.has(failure.status))) return null;
  const { retryAfter } = failure;
  if (retryAfter !== null && retryAfter > MAX_RETRY_AFTER) return null;
  return retryAfter ?? pause;
}

/**
 * Reads `Retry-After` in its two forms, seconds or a date, as milliseconds (RFC 9110, section
 * 10.2.3).
 */
function readRetryAfter(response: Response, now: number): number | null {
  const value = response.headers.get('Retry-After');
  if (!value) return null;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const milliseconds = Date.parse(value) - now;
  if (Number.isNaN(milliseconds)) return null;
  return Math.max(0, milliseconds);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
