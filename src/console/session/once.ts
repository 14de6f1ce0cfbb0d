import { Problem, unavailable } from '../../errors';
import type { RequestContext, UserContext } from '../../http/context';
import { callerKey, createOnce, RequestAnswers, type StoredAnswer } from '../../http/idempotency';
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
 * Runs what creates something, unless the same form was sent before: then returns what that
 * created. This holds for 24 hours, and for forms with `OnceField`.
 * @param create calls one function that writes once, with the context that it gets
 */
export type Once = <T extends object>(create: (context: UserContext) => Promise<T>) => Promise<T>;

interface SentForm {
  /** See {@link onceKey}. */
  key: Uint8Array | null;
  /** The answer to the same form, if it was sent before. */
  stored: StoredAnswer | undefined;
  /** Reads again the answer to the same form. */
  readStored: () => Promise<StoredAnswer | undefined>;
}

/** Returns the function with which the handler of a form creates something once. */
export function oncePerForm(
  c: RequestContext,
  context: UserContext,
  { key, stored, readStored }: SentForm,
): Once {
  return async <T extends object>(create: (context: UserContext) => Promise<T>) => {
    if (!key) return create(context);
    const answers = new RequestAnswers(c, callerKey(context.principal, key), async () => key);
    if (stored) return readFormAnswer<T>(c, answers, stored);
    const ledger = context.ledger.withAnswers(answers);
    const readConcurrent = async () => {
      const concurrent = await readStored();
      if (!concurrent) throw unavailable();
      return readFormAnswer<T>(c, answers, concurrent);
    };
    return createOnce(() => create({ ...context, ledger }), readConcurrent);
  };
}

/**
 * The result of a form when it was sent first.
 * @throws Problem `conflict` if that was more than 5 minutes ago
 */
async function readFormAnswer<T>(
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
