import type { DrizzleD1Database } from 'drizzle-orm/d1';
import type { Reader, Statement } from '../db/database';
import { invalidRequest, Problem, unavailable } from '../errors';
import type { Answer, AnswerKeeper } from '../ledger/answer';
import { type AnswerKey, findStoredAnswer, type StoredAnswer, storeAnswer } from '../ledger/stored-answer';
import { concatBytes, equalBytes, sha256 } from '../lib/bytes';
import { idBytes } from '../lib/typeid';
import type { Incoming, SentAnswer } from './context';
import { readBodyText } from './input';
import { sendAnswer } from './operation';

const HEADER = 'Idempotency-Key';
const KEY = /^[\x21-\x7e]{1,255}$/;
const NONCE_LENGTH = 12;

/**
 * The idempotency key of a POST, hashed; null where there is none.
 * @throws Problem `invalid_request`
 */
export async function idempotencyKey(c: Incoming): Promise<Uint8Array | null> {
  const key = c.req.header(HEADER);
  if (key === undefined || c.req.method !== 'POST') return null;
  if (!KEY.test(key)) {
    throw invalidRequest([{ path: `header.${HEADER}`, message: 'must be 1 to 255 visible ASCII characters' }]);
  }
  return sha256(key);
}

/** A request with an idempotency key: it takes effect once, and is answered alike however often it is sent. */
export class KeyedRequest implements AnswerKeeper {
  /** @param readers the databases in which its answer may be stored */
  constructor(
    private readonly c: Incoming,
    private readonly key: AnswerKey & { principal: Uint8Array },
    private readonly readers: readonly Reader[],
  ) {}

  async keep(build: DrizzleD1Database, { value, subject, settled = {} }: Answer): Promise<Statement[]> {
    const { config, runtime, writeAnswer } = this.c.var;
    if (!writeAnswer) throw new Error('a route that changes something must declare its answer');
    const text = JSON.stringify(writeAnswer(value));
    const answer = {
      request: await this.fingerprint(),
      answer: await config.keyring.encrypt('stored-answer', this.name, runtime.random(NONCE_LENGTH), text),
      subject: idBytes(subject),
      createdAt: runtime.now(),
    };
    return storeAnswer(build, this.key, answer, settled);
  }

  /**
   * Gives a stored answer again.
   * @throws Problem `idempotency_key_reuse` when it was given to another request
   */
  async replay({ request, answer, settled }: StoredAnswer): Promise<Response> {
    if (!equalBytes(request, await this.fingerprint())) throw keyReuse();
    const text = await this.c.var.config.keyring.decrypt('stored-answer', this.name, answer);
    if (text === null) throw new Error('a stored answer cannot be decrypted: its root secret is gone');
    const sent = JSON.parse(text) as SentAnswer;
    const body = settled && sent.body !== null ? JSON.stringify({ ...JSON.parse(sent.body), ...settled }) : sent.body;
    const response = sendAnswer({ ...sent, body });
    response.headers.set('Idempotent-Replayed', 'true');
    return response;
  }

  /** Gives the answer of the same request that was faster. */
  async replayRival(): Promise<Response> {
    const now = this.c.var.runtime.now();
    const found = await Promise.all(
      this.readers.map((reader) => reader.load([findStoredAnswer(reader, this.key, now)])),
    );
    const stored = found.flat(2)[0];
    if (!stored) throw unavailable();
    return this.replay(stored);
  }

  private get name(): Uint8Array {
    return concatBytes(this.key.principal, this.key.key);
  }

  /** What makes two requests the same: method, path with query, and body. */
  private async fingerprint(): Promise<Uint8Array> {
    const { pathname, search } = new URL(this.c.req.url);
    return sha256(JSON.stringify([this.c.req.method, pathname, search, await readBodyText(this.c)]));
  }
}

function keyReuse(): Problem {
  return new Problem(
    'idempotency_key_reuse',
    'This idempotency key was used for another request. Send a new key, or the very same request.',
    { errors: [{ path: `header.${HEADER}`, message: 'belongs to a request with another method, path or body' }] },
  );
}
