/** Every problem code that the service answers: its status and title (RFC 9457), and what it tells the client. */
export const PROBLEMS = {
  invalid_request: {
    status: 400,
    title: 'Invalid request',
    meaning: 'A field of the body, a parameter or a header is not as described; `errors` names the fields at fault.',
  },
  invalid_cursor: {
    status: 400,
    title: 'Invalid cursor',
    meaning: 'The cursor was changed, or made for another list or other filters.',
  },
  scope_widened: {
    status: 400,
    title: 'Scope widened',
    meaning: 'An approval may narrow what was requested, never widen it.',
  },
  unauthorized: {
    status: 401,
    title: 'Unauthorized',
    meaning: 'There is no credential, or it is malformed, unknown, expired or revoked.',
  },
  insufficient_scope: {
    status: 403,
    title: 'Insufficient scope',
    meaning: 'The user token lacks the scope that this operation needs.',
  },
  plan_required: { status: 403, title: 'Plan required', meaning: "The account's plan does not include this." },
  agent_inactive: { status: 403, title: 'Agent inactive', meaning: 'The agent is switched off.' },
  invalid_signature: { status: 403, title: 'Invalid signature', meaning: 'The signed address was changed.' },
  account_inactive: { status: 403, title: 'Account inactive', meaning: 'The account is switched off.' },
  wrong_credential: {
    status: 403,
    title: 'Wrong credential',
    meaning: 'The credential is good, but of a kind that this operation does not take.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning: 'There is no such thing, or it belongs to another account.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path takes other methods; `Allow` names them.',
  },
  not_pending: { status: 409, title: 'Not pending', meaning: 'The permission is decided already, or has run out.' },
  token_not_active: {
    status: 409,
    title: 'Token not active',
    meaning: 'The token cannot be used; `reason` says why.',
    reasons: ['expired', 'used', 'revoked', 'unknown', 'mismatch', 'agent_inactive'],
  },
  conflict: {
    status: 409,
    title: 'Conflict',
    meaning:
      'The account holds as many as it can, it was changed at the same time, the thing is switched off or gone, or what ' +
      'is kept speaks against it.',
  },
  log_refused: {
    status: 409,
    title: 'Log refused',
    meaning:
      'The log in the database is inconsistent with its signed heads. The service signs and proves nothing more of it.',
  },
  download_expired: {
    status: 410,
    title: 'Download expired',
    meaning: 'The signed address, or the file that it leads to, is over.',
  },
  payload_too_large: { status: 413, title: 'Payload too large', meaning: 'The body is larger than 1 MiB.' },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'The body is of a content type that this operation does not take.',
  },
  range_not_satisfiable: {
    status: 416,
    title: 'Range not satisfiable',
    meaning: 'The file has none of the bytes that `Range` asks for; `Content-Range` tells its size.',
  },
  idempotency_key_reuse: {
    status: 422,
    title: 'Idempotency key reused',
    meaning: 'The `Idempotency-Key` was used for another request before.',
  },
  too_many_exports: {
    status: 429,
    title: 'Too many exports',
    meaning:
      'As many exports and reports are in the making as an account can have; send the request again after `Retry-After`.',
  },
  rate_limited: {
    status: 429,
    title: 'Rate limited',
    meaning: 'There were too many requests; wait for `Retry-After`.',
  },
  internal: { status: 500, title: 'Internal error', meaning: 'The service failed in a way that it did not foresee.' },
  unavailable: {
    status: 503,
    title: 'Service unavailable',
    meaning: 'The service cannot answer right now; send the request again after `Retry-After`.',
  },
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
