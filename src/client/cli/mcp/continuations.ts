import { isObject, isRequestId, type RequestId } from './message.ts';

/**
 * The calls that wait for answers of the client. In the revision 2026-07-28 a server that has a question ends a call with
 * it, and the client repeats the call with the answer. That is still the call which was approved: it goes on once for
 * each question, with the same arguments and the state that the server gave.
 */
export class Continuations {
  /** The approved calls that the server has not answered: the digest of tool and arguments by the request id. */
  readonly #running = new Map<RequestId, string>();
  readonly #open = new Set<string>();

  /** Says that an approved call was sent to the server. */
  expect(id: RequestId, digest: string): void {
    this.#running.set(id, digest);
  }

  /** Reads a line of the server: it may end a call with a question. */
  read(line: Uint8Array): void {
    if (this.#running.size === 0) return;
    for (const message of parseMessages(line)) {
      if (!isObject(message) || Object.hasOwn(message, 'method') || !isRequestId(message.id)) continue;
      const digest = this.#running.get(message.id);
      this.#running.delete(message.id);
      const { result } = message;
      if (digest === undefined || !isObject(result) || result.resultType !== 'input_required') continue;
      this.#open.add(keyOf(digest, result.requestState));
    }
  }

  /** Tells whether a call goes on with one that was approved, which it can only do once. */
  take(digest: string, requestState: unknown): boolean {
    return this.#open.delete(keyOf(digest, requestState));
  }
}

function keyOf(digest: string, requestState: unknown): string {
  return JSON.stringify([digest, requestState ?? null]);
}

function parseMessages(line: Uint8Array): unknown[] {
  try {
    const json: unknown = JSON.parse(new TextDecoder().decode(line));
    return Array.isArray(json) ? json : [json];
  } catch {
    return [];
  }
}
