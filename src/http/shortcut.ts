import { Problem } from '../errors';
import { recallCaller } from '../identity/remembered-callers';
import type { Context, Principal, RequestContext } from './context';
import { callerKey, hasKey, requestAnswers } from './idempotency';
import { type CallerRequest, callerLogFields, openContext } from './open-context';
import { sendAnswer } from './operation';

/**
 * Serves a request of a caller whom this isolate remembers (see `remembered-callers.ts`) in one
 * round trip, which reads nothing before it writes.
 *
 * The caller may be out of date, so the transaction has to check everything about them. If it does
 * not succeed, for whatever reason, nothing may be written, and the result is null.
 * @returns the result of the operation; null if the request must be authenticated and served as any
 *   other
 */
export type Shortcut = (c: RequestContext, context: Context) => Promise<object | null>;

/** The findings of the access check about a request, and the steps that it still has to take. */
interface Admission {
  credential: string;
  /** The hash of the idempotency key; null without one. */
  key: Uint8Array | null;
  /** Throws a Problem for a principal who may not call the operation. */
  authorize: (principal: Principal) => unknown;
  /** Counts the request against the limits of a principal. */
  limit: (principal: Principal) => Promise<void>;
}

/**
 * Tries to serve a request by a shortcut.
 * @returns the response; null if nothing was written
 * @throws Problem `unavailable` if the database fails: then the request may have been served
 *   nevertheless
 */
export async function takeShortcut(
  c: CallerRequest,
  { credential, key, authorize, limit }: Admission,
  shortcut: Shortcut,
): Promise<Response | null> {
  const { writeAnswer } = c.var;
  const isKeyMalformed = key === null && hasKey(c);
  const caller = await recallCaller(c, credential);
  if (!writeAnswer || !caller || isKeyMalformed) return null;
  const isAdmitted = await succeeds(async () => {
    authorize(caller.principal);
    await limit(caller.principal);
  });
  if (!isAdmitted) return null;
  c.set('caller', callerLogFields(caller));
  const answers = key && requestAnswers(c, callerKey(caller.principal, key));
  const value = await shortcut(c, openContext(c, caller, answers));
  if (value) return sendAnswer(writeAnswer(value));
  // The shortcut did not serve the request, so the log must not name this caller yet.
  c.set('caller', undefined);
  return null;
}

/**
 * Whether some checks throw no Problem. If they throw one, the caller is authenticated first: their
 * credential may have ended, which is the better answer.
 */
async function succeeds(checks: () => Promise<void>): Promise<boolean> {
  try {
    await checks();
    return true;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}
