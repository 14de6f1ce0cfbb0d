import type { Context as HonoContext } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { type FieldError, PROBLEMS, Problem, unavailable } from '../errors';
import { LogFull, MAX_LOG_LENGTH } from '../ledger/append';
import { CredentialEnded } from '../ledger/authority';
import { AnsweredBefore } from '../ledger/stored-answer';
import { jsonSize } from '../lib/json';
import { logFailure, stackOf } from '../lib/log';
import { shorten } from '../lib/text';
import type { AppEnv } from './context';

/** Maximum size of a problem document, in bytes. */
export const MAX_PROBLEM_BYTES = 8 * 1024;
/**
 * Maximum lengths of texts in code points. A path and a message may contain names that the client
 * sent.
 */
const MAX_DETAIL = 1_000;
const MAX_PATH = 200;
const MAX_MESSAGE = 400;

/**
 * Makes the response to a problem: a problem document (RFC 9457) of at most
 * {@link MAX_PROBLEM_BYTES}. Long texts are shortened, and errors that do not fit are omitted.
 */
export function problemResponse(problem: Problem, c: HonoContext<AppEnv>): Response {
  c.set('problem', problem.code);
  const { status, title } = PROBLEMS[problem.code];
  const { errors, headers, members } = problem.options;
  const document = {
    type: `urn:countersign:problem:${problem.code}`,
    title,
    status,
    detail: shorten(problem.detail, MAX_DETAIL),
    code: problem.code,
    request_id: c.var.requestId,
    ...members,
  };
  const fitting = errors && { errors: fitErrors(errors, document) };
  return Response.json(
    { ...document, ...fitting },
    {
      status,
      headers: {
        ...headers,
        'Content-Type': 'application/problem+json',
        'Cache-Control': 'no-store',
      },
    },
  );
}

/**
 * Returns as many of the first errors as fit into a document of {@link MAX_PROBLEM_BYTES}, with
 * their long texts shortened.
 */
export function fitErrors(errors: FieldError[], document: object): FieldError[] {
  const fitting: FieldError[] = [];
  let size = jsonSize({ ...document, errors: [] });
  for (const { path, message } of errors) {
    const error = { path: shorten(path, MAX_PATH), message: shorten(message, MAX_MESSAGE) };
    size += jsonSize(error) + ','.length;
    if (size > MAX_PROBLEM_BYTES) break;
    fitting.push(error);
  }
  return fitting;
}

/**
 * Makes the response to an error that a handler threw. For `AnsweredBefore`, the client gets the
 * stored answer; for others the problem that {@link problemOf} returns.
 */
export async function answerError(error: Error, c: HonoContext<AppEnv>): Promise<Response> {
  const { replayConcurrentAnswer } = c.var;
  if (error instanceof AnsweredBefore && replayConcurrentAnswer) {
    try {
      return await replayConcurrentAnswer();
    } catch (failure) {
      return problemResponse(translateError(failure), c);
    }
  }
  return problemResponse(await problemOf(error, c), c);
}

/**
 * Returns the problem that the client sees for an error. Unexpected errors are logged and never
 * shown.
 *
 * For `CredentialEnded` it authenticates the caller again, because the second failure says what
 * ended the credential. If the caller is admitted, the problem is `unavailable`.
 */
export async function problemOf(
  error: Error,
  c: Pick<HonoContext<AppEnv>, 'var'>,
): Promise<Problem> {
  if (!(error instanceof CredentialEnded)) return translateError(error);
  try {
    await c.var.authenticateAgain?.();
  } catch (failure) {
    return translateError(failure);
  }
  // The credential is valid again: its agent or account was activated, or its account was moved.
  return unavailable();
}

function translateError(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof LogFull) {
    return new Problem(
      'conflict',
      `The audit log has ${MAX_LOG_LENGTH} entries, the maximum. Space is freed as old entries ` +
        'reach the retention limit, which the operator can change.',
    );
  }
  if (error instanceof CredentialEnded) return unavailable();
  if (error instanceof HTTPException && error.status === 400) {
    return new Problem('invalid_request', 'The body cannot be read.');
  }
  logFailure('internal_error', error, error instanceof Error ? { stack: stackOf(error) } : {});
  return new Problem(
    'internal',
    'The service failed unexpectedly. Give the operator the request id.',
  );
}
