import type { Context as HonoContext } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { PROBLEMS, Problem, unavailable } from '../errors';
import { AnsweredBefore } from '../ledger/answer';
import { AuthorityLost } from '../ledger/authority';
import { logFailure, stackOf } from '../lib/log';
import type { App } from './context';

/** Writes a problem as an answer of RFC 9457, `application/problem+json`. */
export function problemResponse(problem: Problem, c: HonoContext<App>): Response {
  c.set('problem', problem.code);
  const { status, title } = PROBLEMS[problem.code];
  const { errors, headers, members } = problem.options;
  const document = {
    type: `urn:countersign:problem:${problem.code}`,
    title,
    status,
    detail: problem.detail,
    code: problem.code,
    request_id: c.var.requestId,
    ...members,
    ...(errors && { errors }),
  };
  return Response.json(document, {
    status,
    headers: { ...headers, 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store' },
  });
}

/**
 * Maps whatever a handler threw to an answer. What is not a {@link Problem} is told to the log, never to the client. A
 * request that was answered before gets that answer again. One whose credential ended before it was written is answered
 * as it would be if it came now.
 */
export async function answerError(error: Error, c: HonoContext<App>): Promise<Response> {
  const { answerLikeRival, authenticateAgain } = c.var;
  try {
    if (error instanceof AnsweredBefore && answerLikeRival) return await answerLikeRival();
    if (error instanceof AuthorityLost) {
      await authenticateAgain?.();
      // It was switched off and on again, or its account has moved.
      throw unavailable();
    }
  } catch (failure) {
    return answerFailure(failure as Error, c);
  }
  return answerFailure(error, c);
}

function answerFailure(error: Error, c: HonoContext<App>): Response {
  if (error instanceof Problem) return problemResponse(error, c);
  if (error instanceof HTTPException && error.status === 400) {
    return problemResponse(new Problem('invalid_request', 'The body cannot be read.'), c);
  }
  logFailure('internal_error', error, { stack: stackOf(error) });
  return problemResponse(
    new Problem('internal', 'The service failed in a way that it did not foresee. Tell the operator the request id.'),
    c,
  );
}
