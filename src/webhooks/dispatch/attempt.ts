import type { Runtime } from '../../env';
import { SECOND } from '../../lib/time';
import { RECEIVER_TIMEOUT } from './limits';
import { readRetryAfter } from './schedule';

/** How much of an answer is read. */
export const MAX_ANSWER_BYTES = 16 * 1024;

const NOT_SECURE = 'A secure connection could not be made: see to the certificate, the port and the name.';
/** What Cloudflare answers in the place of a receiver whose handshake failed, or whose certificate is not valid. */
const CLOUDFLARE_NOT_SECURE = [525, 526];

/** What came of an attempt. */
export interface Outcome {
  /** When it began. */
  at: number;
  duration: number;
  statusCode: number | null;
  /** In plain words; null when it succeeded. */
  error: string | null;
  /** How long the receiver asks to be left alone, in milliseconds. */
  retryAfter: number | null;
}

/** Sends one message to a receiver, and reads its answer as far as that matters. Whatever the receiver does is an outcome. */
export async function attempt(
  runtime: Runtime,
  url: string,
  headers: Record<string, string>,
  body: string,
): Promise<Outcome> {
  const at = runtime.now();
  const signal = runtime.timeout(RECEIVER_TIMEOUT);
  let response: Response | null = null;
  let error: string | null;
  try {
    const request = { method: 'POST', headers, body, redirect: 'manual' as const, signal };
    response = await untilAborted(signal, runtime.fetch(url, request));
    error = describeStatus(response.status);
    // Nothing that a receiver says of its failure is looked at.
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

/** Reads an answer to its end, or as much of it as is read. */
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

/** Nobody waits for what is given up. */
function ignore(): void {}

/** Waits for something no longer than until the signal, whether or not it listens to the signal itself. */
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

/** What a status says against success; null where it says success. */
function describeStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `The answer was ${status}; redirects are not followed.`;
  return CLOUDFLARE_NOT_SECURE.includes(status) ? NOT_SECURE : `The answer was ${status}.`;
}

function describeTimeout(response: Response | null): string {
  const seconds = RECEIVER_TIMEOUT / SECOND;
  return response ? `The answer was not whole within ${seconds} seconds.` : `No answer within ${seconds} seconds.`;
}

/**
 * Tells of a failure of the connection without a word of the runtime's own. Of a handshake or a certificate that fails
 * the runtime says no more than `internal error`.
 */
function describeFailure(url: string, failure: unknown): string {
  const isHandshake = /^https:/i.test(url) && /tls|ssl|certificate|internal error/i.test(String(failure));
  return isHandshake ? NOT_SECURE : 'The connection failed.';
}
