/** Every problem code that the service answers, with its status and title (RFC 9457). */
export const PROBLEMS = {
  invalid_request: { status: 400, title: 'Invalid request' },
  invalid_cursor: { status: 400, title: 'Invalid cursor' },
  scope_widened: { status: 400, title: 'Scope widened' },
  unauthorized: { status: 401, title: 'Unauthorized' },
  insufficient_scope: { status: 403, title: 'Insufficient scope' },
  plan_required: { status: 403, title: 'Plan required' },
  agent_inactive: { status: 403, title: 'Agent inactive' },
  invalid_signature: { status: 403, title: 'Invalid signature' },
  account_inactive: { status: 403, title: 'Account inactive' },
  wrong_credential: { status: 403, title: 'Wrong credential' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  not_pending: { status: 409, title: 'Not pending' },
  token_not_active: { status: 409, title: 'Token not active' },
  conflict: { status: 409, title: 'Conflict' },
  download_expired: { status: 410, title: 'Download expired' },
  payload_too_large: { status: 413, title: 'Payload too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  range_not_satisfiable: { status: 416, title: 'Range not satisfiable' },
  idempotency_key_reuse: { status: 422, title: 'Idempotency key reused' },
  too_many_exports: { status: 429, title: 'Too many exports' },
  rate_limited: { status: 429, title: 'Rate limited' },
  internal: { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'Service unavailable' },
} as const;

export type ProblemCode = keyof typeof PROBLEMS;

/** One field that is wrong: where it stands (`body.name`, `query.limit`) and what is wrong with it. */
export interface FieldError {
  path: string;
  message: string;
}

export interface ProblemOptions {
  errors?: FieldError[];
  headers?: Record<string, string>;
  /** Extension members of the problem document (RFC 9457 section 3.2). */
  members?: Record<string, string>;
}

/** A refusal that is told to the client as it stands; free of transport, mapped to an answer in one place. */
export class Problem extends Error {
  constructor(
    readonly code: ProblemCode,
    /** What the client can do about it; shown to the client. */
    readonly detail: string,
    readonly options: ProblemOptions = {},
  ) {
    super(detail);
    this.name = 'Problem';
  }
}

/** The answer for everything that does not exist or belongs to somebody else. */
export function notFound(what: string): Problem {
  return new Problem('not_found', `There is no ${what} with this id.`);
}

/** A refusal that names the fields at fault. */
export function invalidRequest(errors: FieldError[]): Problem {
  return new Problem('invalid_request', 'Correct the fields that `errors` names, then send the request again.', {
    errors,
  });
}

/** The database did not answer, or did not commit; the request may be sent again. */
export function unavailable(): Problem {
  return new Problem('unavailable', 'The service cannot answer right now. Send the request again in a moment.', {
    headers: { 'Retry-After': '1' },
  });
}
