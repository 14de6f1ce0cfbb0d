import { isObject } from './json.ts';

/**
 * An error of this package. `code` tells the kinds apart, also where two copies of the package are
 * installed.
 */
export abstract class CountersignError extends Error {
  abstract readonly code: string;

  override get name(): string {
    return this.constructor.name;
  }
}

/** A field that the service refused. */
export interface FieldError {
  /** For example `body.name` or `query.limit`. */
  path: string;
  message: string;
}

/** The service refused a call: its problem answer (RFC 9457). */
export class ApiError extends CountersignError {
  /**
   * The problem's code, for example `not_found`. An answer that is no problem has
   * `unexpected_answer`.
   */
  readonly code: string;
  readonly status: number;
  /** The advice on how to go on. */
  readonly detail: string;
  /** Names the request in the service's logs. */
  readonly requestId: string | null;
  /** The refused fields; empty where the problem names none. */
  readonly errors: FieldError[];
  /** Why a token is not active, where the code is `token_not_active`. */
  readonly reason: string | null;
  /** When to try again, in milliseconds, where the service says so. */
  readonly retryAfter: number | null;

  constructor(response: Response, body: unknown, retryAfter: number | null) {
    const problem = isObject(body) ? body : {};
    const code = asText(problem.code) ?? 'unexpected_answer';
    const detail = asText(problem.detail) ?? `The service answered ${response.status}.`;
    const errors = readErrors(problem.errors);
    const faults = errors.map(({ path, message }) => `${path} ${message}`);
    super(`${code}: ${[detail, ...faults].join('; ')}`);
    this.code = code;
    this.status = response.status;
    this.detail = detail;
    this.requestId = response.headers.get('X-Request-Id');
    this.errors = errors;
    this.reason = asText(problem.reason);
    this.retryAfter = retryAfter;
  }
}

/** No answer came, after all retries. Whether the service carried the call out is unknown. */
export class ConnectionError extends CountersignError {
  readonly code = 'connection_failed';
}

/**
 * Tells whether a call failed because the service could not answer it, so that the same call may
 * succeed later.
 */
export function isOutage(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  return (
    error instanceof ApiError &&
    (error.status >= 500 || error.status === 429 || error.status === 408)
  );
}

/** Returns the message of anything that was thrown. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  return String(error);
}

function readErrors(errors: unknown): FieldError[] {
  if (Array.isArray(errors)) return errors;
  return [];
}

function asText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return null;
}
