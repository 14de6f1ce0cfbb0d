import type { DrizzleD1Database } from 'drizzle-orm/d1';
import { Problem } from '../../errors';
import type { RequestContext, UserPrincipal } from '../../http/context';
import {
  type Answer,
  type AnswerStore,
  type StoredAnswer,
  storeAnswer,
} from '../../ledger/stored-answer';
import { concatBytes, sha256 } from '../../lib/bytes';
import { MINUTE } from '../../lib/time';
import { idBytes } from '../../lib/typeid';

/**
 * How long a form that is sent again shows what it made, and so a secret that is shown only once,
 * in milliseconds.
 */
const SHOWN_AGAIN = 5 * MINUTE;

/** The hidden field with a random text that tells a form from others with the same content. */
export const ONCE_FIELD = 'once';

/**
 * The key of the answer to a form that may be sent only once: a hash of where it is sent and of all
 * its fields, which include the CSRF token of the session. Null for any other request.
 */
export async function onceKey({ req }: RequestContext): Promise<Uint8Array | null> {
  if (req.method !== 'POST' || !isForm(req)) return null;
  const fields = await req.parseBody({ all: true });
  return typeof fields[ONCE_FIELD] === 'string' ? sha256(JSON.stringify([req.path, fields])) : null;
}

export function isForm(req: RequestContext['req']): boolean {
  return req.header('Content-Type')?.startsWith('application/x-www-form-urlencoded') ?? false;
}

/** Stores what a form made, encrypted, for the same form that is sent again. */
export class FormAnswers implements AnswerStore {
  private readonly principalId: Uint8Array;

  /** @param key see {@link onceKey} */
  constructor(
    private readonly c: RequestContext,
    private readonly caller: UserPrincipal,
    private readonly key: Uint8Array,
  ) {
    const { member, token } = caller;
    const owner = member?.id ?? token;
    if (owner === null) throw new Error('a session without a member and a user token was admitted');
    this.principalId = idBytes(owner);
  }

  async store(build: DrizzleD1Database, { value, subject, computed = {} }: Answer) {
    const { config, runtime } = this.c.var;
    const answer = await config.keyring.encrypt(
      'stored-answer',
      this.name,
      runtime.random,
      JSON.stringify(value),
    );
    const key = { principal: this.principalId, key: this.key, account: this.caller.account.number };
    const row = { request: this.key, answer, subject: idBytes(subject), createdAt: runtime.now() };
    return storeAnswer(build, key, row, computed);
  }

  /**
   * The result of the form when it was sent first.
   * @throws Problem `conflict` if that was more than 5 minutes ago
   */
  async read<T>({ answer, computed, createdAt }: StoredAnswer): Promise<T> {
    if (createdAt < this.c.var.runtime.now() - SHOWN_AGAIN) {
      throw new Problem(
        'conflict',
        'This form was sent before. To make another one, open the page again.',
      );
    }
    const text = await this.c.var.config.keyring.decrypt('stored-answer', this.name, answer);
    if (text === null)
      throw new Error(
        'a stored answer cannot be decrypted: its root secret is no longer configured',
      );
    return { ...JSON.parse(text), ...computed };
  }

  private get name(): Uint8Array {
    return concatBytes(this.principalId, this.key);
  }
}
