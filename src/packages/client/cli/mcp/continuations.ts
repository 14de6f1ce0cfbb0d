import { createHash } from 'node:crypto';
import { canonicalJson } from '../../canonical-json.ts';
import { isObject } from '../../json.ts';
import { type ClientRequest, isRequestId, type RequestId } from './message.ts';

/**
 * How a call that was asked for ended, as far as the server's answer tells. `unknown` for one that
 * was cancelled, that makes a task, or that is never answered.
 */
export type CallEnd = 'succeeded' | 'failed' | 'unknown';

/** Takes the end of a call that was asked for, once. */
export type OnEnd = (end: CallEnd) => void;

/** A request that the server has not answered. */
interface RunningRequest {
  request: ClientRequest;
  onEnd: OnEnd;
  /** Whether the client cancelled it. */
  isCancelled: boolean;
}

const ignoreEnd: OnEnd = () => {};

/**
 * The requests that the server has not answered, and those that wait for answers of the client.
 *
 * An id names one request until it is answered: with a second request of the same id, the answer to
 * one could be taken for the answer to the other.
 *
 * In the revision 2026-07-28 a server that has a question ends a request with it, and the client
 * repeats the request with the answer and the state that the server gave. That is still the request
 * which was let pass: it goes on once for each question. The state is good for no other method,
 * tool or arguments.
 */
export class Continuations {
  /** The requests that the server has not answered, by their ids. */
  readonly #running = new Map<RequestId, RunningRequest>();
  /** Those that wait for answers of the client, by what they do and their state. */
  readonly #open = new Map<string, OnEnd>();

  /** Says that a request was sent to the server. */
  expect(request: ClientRequest, onEnd: OnEnd = ignoreEnd): void {
    this.#running.set(request.id, { request, onEnd, isCancelled: false });
  }

  /** Whether the server has a request with this id that it has not answered. */
  isRunning(id: RequestId): boolean {
    return this.#running.has(id);
  }

  /**
   * Says that the client cancelled a request. The server may still answer it, so its id stays in
   * use.
   */
  cancel(id: RequestId): void {
    const running = this.#running.get(id);
    if (!running) return;
    running.isCancelled = true;
    running.onEnd('unknown');
  }

  /** Reads a line of the server: it may answer a request, also with a question. */
  read(line: Uint8Array): void {
    if (this.#running.size === 0) return;
    for (const message of parseMessages(line)) {
      if (!isObject(message) || Object.hasOwn(message, 'method') || !isRequestId(message.id))
        continue;
      const running = this.#running.get(message.id);
      this.#running.delete(message.id);
      if (!running || running.isCancelled) continue;
      const { request, onEnd } = running;
      const { result } = message;
      const isQuestion = isObject(result) && result.resultType === 'input_required';
      const key = isQuestion ? keyOf(request, result.requestState) : null;
      if (key !== null) this.#open.set(key, onEnd);
      else onEnd(isQuestion ? 'unknown' : endOf(request, result));
    }
  }

  /**
   * Tells whether a request goes on with one that was let pass, which it can only do once.
   * @returns what takes the end of that one; null if there is none
   */
  take(request: ClientRequest): OnEnd | null {
    const key = keyOf(request, request.params.requestState);
    if (key === null) return null;
    const onEnd = this.#open.get(key) ?? null;
    this.#open.delete(key);
    return onEnd;
  }

  /** Ends every call that has no answer: the connection is closed. */
  close(): void {
    for (const { onEnd } of this.#running.values()) onEnd('unknown');
    for (const onEnd of this.#open.values()) onEnd('unknown');
  }
}

/** Whether a request says that it goes on with an earlier one. */
export function isContinuation({ params }: ClientRequest): boolean {
  return Object.hasOwn(params, 'inputResponses') || Object.hasOwn(params, 'requestState');
}

/** How a call ended by its answer. An answer without a result is an error. */
function endOf({ params }: ClientRequest, result: unknown): CallEnd {
  if (!isObject(result) || result.isError === true) return 'failed';
  return Object.hasOwn(params, 'task') ? 'unknown' : 'succeeded';
}

/** Names what a request does, and a state of it; null if it holds what canonical JSON cannot. */
function keyOf({ method, params }: ClientRequest, state: unknown): string | null {
  const { inputResponses, requestState, _meta, ...act } = params;
  try {
    const text = canonicalJson([method, act, state ?? null]);
    return createHash('sha256').update(text).digest('base64');
  } catch {
    return null;
  }
}

function parseMessages(line: Uint8Array): unknown[] {
  try {
    return [JSON.parse(new TextDecoder().decode(line))].flat();
  } catch {
    return [];
  }
}
