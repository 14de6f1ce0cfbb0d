import type { Runtime } from '../../env';
import { readAnswer } from '../../lib/read-answer';
import { SECOND } from '../../lib/time';
import { untilAborted } from '../../lib/until-aborted';
import type { PreparedAttempt, RequestAttempt } from '../sender';
import { REQUEST_TIMEOUT } from './limits';

/** How much of an answer is read if it is read at all; the rest is ignored. */
export const MAX_ANSWER_BYTES = 16 * 1024;

const NOT_SECURE =
  'A secure connection could not be made: check the certificate, the port and the host name.';
/**
 * Cloudflare's status codes for a server whose TLS handshake failed, or whose certificate is not
 * valid.
 */
const CLOUDFLARE_NOT_SECURE = [525, 526];

/** An attempt that was made, or why none was made, in plain words. */
export type AttemptResult =
  | { kind: 'made'; attempt: MadeAttempt }
  | Extract<PreparedAttempt, { kind: 'dropped' | 'postponed' }>;

/** An attempt that was made: the message was sent, or the attempt failed. */
export interface MadeAttempt {
  /** When it began, in milliseconds since the epoch. */
  at: number;
  /** In milliseconds. */
  duration: number;
  /** Null if there was no answer. */
  statusCode: number | null;
  /** Why it failed, in plain words; null if it succeeded. */
  error: string | null;
  /**
   * How long the server asks to wait before the next attempt, in milliseconds; null if it does
   * not ask.
   */
  retryAfter: number | null;
  /** Where the message is in Slack; null if it was not posted there. */
  slackMessage: string | null;
}

const NO_ANSWER = { statusCode: null, retryAfter: null, slackMessage: null };

/** Makes an attempt. Whatever the server does is a result, and never an exception. */
export async function sendAttempt(
  runtime: Runtime,
  prepared: PreparedAttempt,
): Promise<AttemptResult> {
  switch (prepared.kind) {
    case 'dropped':
    case 'postponed':
      return prepared;
    case 'refused': {
      const attempt = { ...NO_ANSWER, at: runtime.now(), duration: 0, error: prepared.error };
      return { kind: 'made', attempt };
    }
    case 'requests': {
      const sent = await Promise.all(
        prepared.requests.map((request) => sendRequest(runtime, request)),
      );
      const attempt = sent.find(({ error }) => error !== null) ?? sent[0];
      if (!attempt) throw new Error('an attempt has no requests');
      return { kind: 'made', attempt };
    }
    case 'call':
      return { kind: 'made', attempt: await makeCall(runtime, prepared.call) };
  }
}

/**
 * Calls a binding of the Worker that sends a message. Its errors say in plain words why it was not
 * sent.
 */
async function makeCall(runtime: Runtime, call: () => Promise<void>): Promise<MadeAttempt> {
  const at = runtime.now();
  const signal = runtime.timeout(REQUEST_TIMEOUT);
  let error: string | null = null;
  try {
    await untilAborted(signal, call());
  } catch (failure) {
    error = signal.aborted ? describeTimeout(null) : messageOf(failure);
  }
  return { ...NO_ANSWER, at, duration: runtime.now() - at, error };
}

/**
 * Sends a request to a server. Without `judge`, the head of the answer decides, and its body is
 * not read. With it, the answer must be complete, or reach MAX_ANSWER_BYTES, in time.
 */
async function sendRequest(
  runtime: Runtime,
  { url, headers, body, judge }: RequestAttempt,
): Promise<MadeAttempt> {
  const at = runtime.now();
  const signal = runtime.timeout(REQUEST_TIMEOUT);
  let response: Response | null = null;
  let error: string | null;
  let slackMessage: string | null = null;
  try {
    const request = { method: 'POST', headers, body, redirect: 'manual' as const, signal };
    response = await untilAborted(signal, runtime.fetch(url, request));
    error = describeStatus(response.status);
    if (judge) {
      const text = await readAnswer(signal, response, MAX_ANSWER_BYTES);
      ({ error, slackMessage } = judge({ status: response.status, error, text }));
    } else {
      discard(response);
    }
  } catch (failure) {
    error = signal.aborted ? describeTimeout(response) : describeFailure(url, failure);
    if (response) discard(response);
  }
  const now = runtime.now();
  const retryAfter = readRetryAfter(response?.headers.get('Retry-After') ?? null, now);
  return {
    at,
    duration: now - at,
    statusCode: response?.status ?? null,
    error,
    retryAfter,
    slackMessage,
  };
}

function discard({ body }: Response): void {
  if (body && !body.locked) body.cancel().catch(ignore);
}

/** For promises whose result is no longer needed. */
function ignore(): void {}

/**
 * Reads a `Retry-After` header (RFC 9110 section 10.2.3) as milliseconds from now; null if absent
 * or malformed.
 */
function readRetryAfter(text: string | null, now: number): number | null {
  if (text === null) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND;
  const time = Date.parse(text);
  if (!text.endsWith(' GMT') || Number.isNaN(time)) return null;
  return Math.max(0, time - now);
}

/** Why an answer with this status is a failure; null if it is a success. */
function describeStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `The answer was ${status}; redirects are not followed.`;
  if (CLOUDFLARE_NOT_SECURE.includes(status)) return NOT_SECURE;
  return `The answer was ${status}.`;
}

function describeTimeout(response: Response | null): string {
  const seconds = REQUEST_TIMEOUT / SECOND;
  if (response) return `The answer was not complete within ${seconds} seconds.`;
  return `No answer within ${seconds} seconds.`;
}

function messageOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}

/**
 * Describes a failed connection in words of our own, as the runtime's are not for users. For a TLS
 * handshake or a certificate that failed the runtime says only `internal error`.
 */
function describeFailure(url: string, failure: unknown): string {
  const isHandshake =
    /^https:/i.test(url) && /tls|ssl|certificate|internal error/i.test(String(failure));
  if (isHandshake) return NOT_SECURE;
  return 'The connection failed.';
}
