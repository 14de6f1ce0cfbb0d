import type { DrizzleD1Database } from 'drizzle-orm/d1';
import type { Statement } from '../db/database';
import { invalidRequest, Problem, unavailable } from '../errors';
import {
  type Answer,
  type AnswerKey,
  type AnswerStore,
  type StoredAnswer,
  storeAnswer,
} from '../ledger/stored-answer';
import { concatBytes, equalBytes, sha256 } from '../lib/bytes';
import { idBytes } from '../lib/typeid';
import type { AppEnv, RequestContext, Scope, SentAnswer } from './context';
import { readBodyText } from './input';
import { sendAnswer } from './operation';

const HEADER = 'Idempotency-Key';

/** The values of the header that are accepted. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * The hash of the idempotency key of a POST; null for another method, and without a key or with a
 * malformed one.
 */
export async function idempotencyKey(c: RequestContext): Promise<Uint8Array | null> {
  const key = readKey(c);
  if (key === null || !IDEMPOTENCY_KEY.test(key)) return null;
  return sha256(key);
}

/**
 * Begins to serve an authenticated request that may have an idempotency key. If a concurrent
 * request with the same key commits first, this one gets its answer (see `answerError`).
 * @param key null without a key, or if it is malformed
 * @param stored the stored answer to the key
 * @param findConcurrentAnswer authenticates the caller again and finds the answer that a concurrent
 *   request stored
 * @returns the stored answer as a response; else the object with which the ledger stores the new
 *   answer, or null without a key
 * @throws Problem `invalid_request` for a malformed key; `idempotency_key_reuse` if the stored
 *   answer is that of another request
 */
export async function beginIdempotentRequest(
  c: RequestContext & {
    set(name: 'replayConcurrentAnswer', value: AppEnv['Variables']['replayConcurrentAnswer']): void;
  },
  key: ResolvedKey | null,
  stored: StoredAnswer | undefined,
  findConcurrentAnswer: () => Promise<StoredAnswer | undefined>,
): Promise<IdempotentRequest | Response | null> {
  if (key === null) {
    if (readKey(c) === null) return null;
    throw invalidRequest([
      { path: `header.${HEADER}`, message: 'must be 1 to 255 visible ASCII characters' },
    ]);
  }
  const request = new IdempotentRequest(c, key);
  if (stored) return request.replay(stored);
  c.set('replayConcurrentAnswer', async () => {
    const answer = await findConcurrentAnswer();
    if (!answer) throw unavailable();
    return request.replay(answer);
  });
  return request;
}

function readKey(c: RequestContext): string | null {
  if (c.req.method !== 'POST') return null;
  return c.req.header(HEADER) ?? null;
}

/** An idempotency key whose caller is known. */
export interface ResolvedKey extends AnswerKey {
  principal: Uint8Array;
  /**
   * The scopes of a member's credential. Null for other callers: each of their credentials has
   * idempotency keys of its own.
   */
  scopes: readonly Scope[] | null;
}

/** A request with an idempotency key. It stores its answer, or replays the stored one. */
class IdempotentRequest implements AnswerStore {
  constructor(
    private readonly c: RequestContext,
    private readonly key: ResolvedKey,
  ) {}

  async store(
    build: DrizzleD1Database,
    { value, subject, computed = {} }: Answer,
  ): Promise<Statement[]> {
    const { config, runtime, writeAnswer } = this.c.var;
    if (!writeAnswer) throw new Error('a route that changes data must declare its answer');
    const text = JSON.stringify(writeAnswer(value));
    const answer = {
      request: await this.fingerprint(),
      answer: await config.keyring.encrypt('stored-answer', this.name, runtime.random, text),
      subject: idBytes(subject),
      createdAt: runtime.now(),
    };
    return storeAnswer(build, this.key, answer, computed);
  }

  /**
   * Makes a response from a stored answer.
   * @throws Problem `idempotency_key_reuse` if it answered another request
   */
  async replay({ request, answer, computed }: StoredAnswer): Promise<Response> {
    if (!equalBytes(request, await this.fingerprint())) {
      throw new Problem(
        'idempotency_key_reuse',
        'This idempotency key was used for another request. Send a new key, or exactly the same ' +
          'request.',
        {
          errors: [
            {
              path: `header.${HEADER}`,
              message: 'belongs to a request with another method, path or body',
            },
          ],
        },
      );
    }
    const text = await this.c.var.config.keyring.decrypt('stored-answer', this.name, answer);
    if (text === null)
      throw new Error(
        'a stored answer cannot be decrypted: its root secret is no longer configured',
      );
    const sent: SentAnswer = JSON.parse(text);
    if (computed && sent.body !== null) {
      sent.body = JSON.stringify({ ...JSON.parse(sent.body), ...computed });
    }
    const response = sendAnswer(sent);
    response.headers.set('Idempotent-Replayed', 'true');
    return response;
  }

  private get name(): Uint8Array {
    return concatBytes(this.key.principal, this.key.key);
  }

  /**
   * A hash of method, path, query and body. Requests with equal fingerprints count as the same
   * request.
   *
   * The credentials of one member share their keys, so their scopes are hashed too: an answer may
   * contain a secret that allows more than the credential which repeats the request.
   */
  private async fingerprint(): Promise<Uint8Array> {
    const { pathname, search } = new URL(this.c.req.url);
    const request: unknown[] = [this.c.req.method, pathname, search, await readBodyText(this.c)];
    if (this.key.scopes) request.push(this.key.scopes);
    return sha256(JSON.stringify(request));
  }
}
