import type { Runtime } from '../../env';
import { SECOND } from '../../lib/time';
import type { DueDelivery } from './claim';
import { REQUEST_TIMEOUT } from './limits';
import type { PreparedAttempt } from './prepare';

/** How much of an answer is read; the rest is ignored. */
export const MAX_ANSWER_BYTES = 16 * 1024;

const NOT_SECURE = 'A secure connection could not be made: check the certificate, the port and the host name.';
/** Cloudflare's status codes for a receiver whose TLS handshake failed, or whose certificate is not valid. */
const CLOUDFLARE_NOT_SECURE = [525, 526];

/** A prepared attempt and what came of it. */
export interface CompletedAttempt {
  delivery: DueDelivery;
  /** Null if nothing was attempted, because the audit entry is no longer kept. */
  outcome: Outcome | null;
}

/** The outcome of an attempt. */
export interface Outcome {
  /** When it began, in milliseconds since the epoch. */
  at: number;
  /** In milliseconds. */
  duration: number;
  /** Null if there was no answer. */
  statusCode: number | null;
  /** Why it failed, in plain words; null if it succeeded. */
  error: string | null;
  /** How long the receiver asks to wait before the next attempt, in milliseconds; null if it does not ask. */
  retryAfter: number | null;
}

const NO_ANSWER = { statusCode: null, retryAfter: null };

/** Makes an attempt. Whatever the receiver does is an outcome, and never an exception. */
export async function sendAttempt(runtime: Runtime, prepared: PreparedAttempt): Promise<CompletedAttempt> {
  const { delivery } = prepared;
  switch (prepared.kind) {
    case 'expired':
      return { delivery, outcome: null };
    case 'refused':
      return { delivery, outcome: { ...NO_ANSWER, at: runtime.now(), duration: 0, error: prepared.error } };
    case 'request':
      return { delivery, outcome: await sendRequest(runtime, prepared) };
  }
}

/** Sends a request to a receiver. A successful answer must be complete, or reach MAX_ANSWER_BYTES, in time. */
async function sendRequest(
  runtime: Runtime,
  { url, headers, body }: { url: string; headers: Record<string, string>; body: string },
): Promise<Outcome> {
  const at = runtime.now();
  const signal = runtime.timeout(REQUEST_TIMEOUT);
  let response: Response | null = null;
  let error: string | null;
  try {
    const request = { method: 'POST', headers, body, redirect: 'manual' as const, signal };
    response = await untilAborted(signal, runtime.fetch(url, request));
    error = describeStatus(response.status);
    if (error === null) await readAnswer(signal, response);
    else discard(response);
  } catch (failure) {
    error = signal.aborted ? describeTimeout(response) : describeFailure(url, failure);
    if (response) discard(response);
  }
  const now = runtime.now();
  const retryAfter = readRetryAfter(response?.headers.get('Retry-After') ?? null, now);
  return { at, duration: now - at, statusCode: response?.status ?? null, error, retryAfter };
}

/** Reads an answer to its end, or to the maximum. */
async function readAnswer(signal: AbortSignal, response: Response): Promise<void> {
  const reader = response.body?.getReader();
  if (!reader) return;
  try {
    for (let size = 0; size < MAX_ANSWER_BYTES; ) {
      const { done, value } = await untilAborted(signal, reader.read());
      if (done) return;
      size += value.byteLength;
    }
  } finally {
    reader.cancel().catch(ignore);
  }
}

function discard({ body }: Response): void {
  if (body && !body.locked) body.cancel().catch(ignore);
}

/** For promises whose result is no longer needed. */
function ignore(): void {}

/** Waits for a promise until the signal is aborted, even if the promise ignores the signal. */
async function untilAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(new Error('timed out'));
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  promise.catch(ignore);
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Reads a `Retry-After` header (RFC 9110 section 10.2.3) as milliseconds from now; null if absent or malformed. */
function readRetryAfter(text: string | null, now: number): number | null {
  if (text === null) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND;
  const time = / GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? null : Math.max(0, time - now);
}

/** Why an answer with this status is a failure; null if it is a success. */
function describeStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `The answer was ${status}; redirects are not followed.`;
  return CLOUDFLARE_NOT_SECURE.includes(status) ? NOT_SECURE : `The answer was ${status}.`;
}

function describeTimeout(response: Response | null): string {
  const seconds = REQUEST_TIMEOUT / SECOND;
  return response ? `The answer was not complete within ${seconds} seconds.` : `No answer within ${seconds} seconds.`;
}

/**
 * Describes a failed connection in words of our own, as the runtime's are not for users. For a TLS handshake or a
 * certificate that failed the runtime says only `internal error`.
 */
function describeFailure(url: string, failure: unknown): string {
  const isHandshake = /^https:/i.test(url) && /tls|ssl|certificate|internal error/i.test(String(failure));
  return isHandshake ? NOT_SECURE : 'The connection failed.';
}
