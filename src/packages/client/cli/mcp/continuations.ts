import { createHash } from 'node:crypto';
import { canonicalJson } from '../../canonical-json.ts';
import { isObject } from '../../json.ts';
import { type ClientRequest, isRequestId, type RequestId } from './message.ts';

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
  /**
   * The requests that the server has not answered, by their ids; null for one that the client
   * cancelled.
   */
  readonly #running = new Map<RequestId, ClientRequest | null>();
  readonly #open = new Set<string>();

  /** Says that a request was sent to the server. */
  expect(request: ClientRequest): void {
    this.#running.set(request.id, request);
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
    if (this.#running.has(id)) this.#running.set(id, null);
  }

  /** Reads a line of the server: it may answer a request, also with a question. */
  read(line: Uint8Array): void {
    if (this.#running.size === 0) return;
    for (const message of parseMessages(line)) {
      if (!isObject(message) || Object.hasOwn(message, 'method') || !isRequestId(message.id))
        continue;
      const request = this.#running.get(message.id);
      this.#running.delete(message.id);
      const { result } = message;
      if (!request || !isObject(result) || result.resultType !== 'input_required') continue;
      const key = keyOf(request, result.requestState);
      if (key !== null) this.#open.add(key);
    }
  }

  /** Tells whether a request goes on with one that was let pass, which it can only do once. */
  take(request: ClientRequest): boolean {
    const key = keyOf(request, request.params.requestState);
    return key !== null && this.#open.delete(key);
  }
}

/** Whether a request says that it goes on with an earlier one. */
export function isContinuation({ params }: ClientRequest): boolean {
  return Object.hasOwn(params, 'inputResponses') || Object.hasOwn(params, 'requestState');
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
