import { Countersign } from '../packages/client/countersign.ts';
import { ApiError } from '../packages/client/errors.ts';

/**
 * Repeats of a request while the service is busy, for example because another program has locked
 * the database.
 */
const MAX_RETRIES = 20;

/** A client of the service for a program that rather waits than fails. */
export function connect(origin: string, credential: string): Countersign {
  return new Countersign({ baseUrl: origin, apiKey: credential, maxRetries: MAX_RETRIES });
}

/** Returns the error with which a request fails; null if it succeeds. */
export async function failureOf(request: PromiseLike<unknown>): Promise<unknown> {
  try {
    await request;
    return null;
  } catch (error) {
    return error;
  }
}

/**
 * Returns the refusal of a request that the service has to refuse.
 * @throws Error if it was carried out or not answered
 */
export async function refusalOf(request: PromiseLike<unknown>): Promise<ApiError> {
  const failure = await failureOf(request);
  if (failure instanceof ApiError) return failure;
  throw failure ?? new Error('The service did not refuse what it has to refuse.');
}
