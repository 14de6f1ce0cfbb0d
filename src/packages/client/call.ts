import type { Duration } from './duration.ts';

/** Settings of one call, which every method takes as its last argument. */
export interface CallOptions {
  /** Ends the call, its retries included. */
  signal?: AbortSignal;
  /** Names a POST, so that a repetition is answered like the first; random when absent. */
  idempotencyKey?: string;
  /** Replaces the client's `timeout` for each attempt: a text such as `30s`, or milliseconds. */
  timeout?: Duration;
  /** Replaces the client's `maxRetries`. */
  maxRetries?: number;
}

/** One call of the API. */
export interface Call extends CallOptions {
  method: string;
  path: string;
  query?: object;
  body?: unknown;
}

/**
 * Makes a path from a template, with each value percent-encoded.
 * @throws TypeError for an empty value, which would name another resource
 */
export function path(parts: TemplateStringsArray, ...values: string[]): string {
  return String.raw(
    { raw: parts },
    ...values.map((value) => {
      if (typeof value !== 'string' || /^\.{0,2}$/.test(value))
        throw new TypeError(`No identifier: ${String(value)}`);
      return encodeURIComponent(value);
    }),
  );
}
