import { Problem } from '../../errors';
import type { RequestContext, UserPrincipal } from '../../http/context';
import { callerKey, RequestAnswers, type StoredAnswer } from '../../http/idempotency';
import { sha256 } from '../../lib/bytes';
import { MINUTE } from '../../lib/time';

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

/**
 * The answers to a form, which are what it made.
 * @param key see {@link onceKey}
 */
export function formAnswers(
  c: RequestContext,
  caller: UserPrincipal,
  key: Uint8Array,
): RequestAnswers {
  return new RequestAnswers(c, callerKey(caller, key), async () => key);
}

/**
 * The result of a form when it was sent first.
 * @throws Problem `conflict` if that was more than 5 minutes ago
 */
export async function readFormAnswer<T>(
  c: RequestContext,
  answers: RequestAnswers,
  stored: StoredAnswer,
): Promise<T> {
  if (stored.createdAt < c.var.runtime.now() - SHOWN_AGAIN) {
    throw new Problem(
      'conflict',
      'This form was sent before. To create another one, open the page again.',
    );
  }
  return { ...(await answers.read<T>(stored)), ...stored.computed };
}
