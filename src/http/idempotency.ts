import type { DrizzleD1Database } from 'drizzle-orm/d1';
import type { Statement } from '../db/statements';
import { invalidRequest, Problem, unavailable } from '../errors';
import {
  type Answer,
  AnsweredBefore,
  type AnswerKey,
  type AnswerStore,
  type StoredAnswer,
  storeAnswer,
} from '../ledger/stored-answer';
import { concatBytes, equalBytes, sha256 } from '../lib/bytes';
import { idBytes } from '../lib/typeid';
import type { AppEnv, Principal, RequestContext, Scope, SentAnswer } from './context';
import { readBodyText } from './input';
import { sendAnswer } from './operation';

export type { StoredAnswer };

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

/** Whether a POST has an idempotency key, which may be malformed. */
export function hasKey(c: RequestContext): boolean {
  return readKey(c) !== null;
}

function readKey(c: RequestContext): string | null {
  if (c.req.method !== 'POST') return null;
  return c.req.header(HEADER) ?? null;
}

/** The hash of an idempotency key, and the caller who sent it. */
export interface CallerKey extends AnswerKey {
  principal: Uint8Array;
  /**
   * The scopes of a member's credential. Null for other callers: each of their credentials has
   * idempotency keys of its own.
   */
  scopes: readonly Scope[] | null;
}

/** The idempotency key of a caller. The credentials of one member share their keys. */
export function callerKey(principal: Principal, key: Uint8Array): CallerKey {
  const account = principal.account.number;
  if (principal.kind === 'agent')
    return { principal: idBytes(principal.agent.id), key, account, scopes: null };
  const { member, token, scopes } = principal;
  if (member) return { principal: idBytes(member.id), key, account, scopes };
  if (token === null) throw new Error('a user without a member and a user token was admitted');
  return { principal: idBytes(token), key, account, scopes: null };
}

/** Stores the answer to a request with a key, encrypted, and reads the stored answer. */
export class RequestAnswers implements AnswerStore {
  /**
   * @param fingerprint gives a hash: requests with equal fingerprints count as the same request
   * @param write makes what is stored from the result of the operation
   */
  constructor(
    private readonly c: RequestContext,
    private readonly key: CallerKey,
    private readonly fingerprint: () => Promise<Uint8Array>,
    private readonly write: (value: object) => object = (value) => value,
  ) {}

  async store(
    build: DrizzleD1Database,
    { value, subject, computed = {} }: Answer,
  ): Promise<Statement[]> {
    const { config, runtime } = this.c.var;
    const text = JSON.stringify(this.write(value));
    const answer = {
      request: await this.fingerprint(),
      answer: await config.keyring.encrypt('stored-answer', this.name, runtime.random, text),
      subject: idBytes(subject),
      createdAt: runtime.now(),
    };
    return storeAnswer(build, this.key, answer, computed);
  }

  /** Whether a stored answer is the answer to this request, and not to another with its key. */
  async isAnsweredBy({ request }: StoredAnswer): Promise<boolean> {
    return equalBytes(request, await this.fingerprint());
  }

  /** Decrypts what was stored, without the fields that the transaction computed. */
  async read<T>({ answer }: StoredAnswer): Promise<T> {
    const text = await this.c.var.config.keyring.decrypt('stored-answer', this.name, answer);
    if (text === null)
      throw new Error(
        'a stored answer cannot be decrypted: its root secret is no longer configured',
      );
    return JSON.parse(text);
  }

  private get name(): Uint8Array {
    return concatBytes(this.key.principal, this.key.key);
  }
}

/**
 * Runs what stores the answer to a request. If a concurrent request with the same key stored its
 * answer first, nothing was written, and `readConcurrent` gives the result instead.
 */
export async function createOnce<T>(
  create: () => Promise<T>,
  readConcurrent: () => Promise<T>,
): Promise<T> {
  try {
    return await create();
  } catch (error) {
    if (error instanceof AnsweredBefore) return readConcurrent();
    throw error;
  }
}

/** The answers to a request of the API, which are the contents of its responses. */
export function requestAnswers(c: RequestContext, key: CallerKey): RequestAnswers {
  return new RequestAnswers(
    c,
    key,
    () => fingerprint(c, key),
    (value) => {
      const { writeAnswer } = c.var;
      if (!writeAnswer) throw new Error('a route that changes data must declare its answer');
      return writeAnswer(value);
    },
  );
}

/**
 * A hash of method, path, query and body.
 *
 * The credentials of one member share their keys, so their scopes are hashed too: an answer may
 * contain a secret that allows more than the credential which repeats the request.
 */
async function fingerprint(c: RequestContext, { scopes }: CallerKey): Promise<Uint8Array> {
  const { pathname, search } = new URL(c.req.url);
  const request: unknown[] = [c.req.method, pathname, search, await readBodyText(c)];
  if (scopes) request.push(scopes);
  return sha256(JSON.stringify(request));
}

/**
 * Replays the stored answer to a request, if there is one. If a concurrent request with the same
 * key commits first, this one gets its answer (see `answerError`).
 * @param answers null without a key, or if it is malformed
 * @param findConcurrentAnswer authenticates the caller again and finds the answer that a concurrent
 *   request stored
 * @returns the stored answer as a response; null if the request must be served
 * @throws Problem `invalid_request` for a malformed key; `idempotency_key_reuse` if the stored
 *   answer is that of another request
 */
export async function replayAnswer(
  c: RequestContext & {
    set(name: 'replayConcurrentAnswer', value: AppEnv['Variables']['replayConcurrentAnswer']): void;
  },
  answers: RequestAnswers | null,
  stored: StoredAnswer | undefined,
  findConcurrentAnswer: () => Promise<StoredAnswer | undefined>,
): Promise<Response | null> {
  if (answers === null) {
    if (!hasKey(c)) return null;
    throw invalidRequest([
      { path: `header.${HEADER}`, message: 'must be 1 to 255 visible ASCII characters' },
    ]);
  }
  if (stored) return respondAgain(answers, stored);
  c.set('replayConcurrentAnswer', async () => {
    const answer = await findConcurrentAnswer();
    if (!answer) throw unavailable();
    return respondAgain(answers, answer);
  });
  return null;
}

async function respondAgain(answers: RequestAnswers, stored: StoredAnswer): Promise<Response> {
  if (!(await answers.isAnsweredBy(stored))) {
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
  const { computed } = stored;
  const sent = await answers.read<SentAnswer>(stored);
  if (computed && sent.body !== null) {
    sent.body = JSON.stringify({ ...JSON.parse(sent.body), ...computed });
  }
  const response = sendAnswer(sent);
  response.headers.set('Idempotent-Replayed', 'true');
  return response;
}
