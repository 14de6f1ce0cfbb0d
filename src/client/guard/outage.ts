import { ApiError, ConnectionError } from '../errors.ts';

/** Tells whether a call failed because the service could not answer it, so that the same call may succeed later. */
export function isOutage(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  return error instanceof ApiError && (error.status >= 500 || error.status === 429 || error.status === 408);
}
