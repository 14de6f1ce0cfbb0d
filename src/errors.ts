import type { Json } from './lib/json';

/**
 * Every problem code of the API, with its HTTP status, its title (RFC 9457) and what it means to
 * the client.
 */
export const PROBLEMS = {
  invalid_request: {
    status: 400,
    title: 'Invalid request',
    meaning:
      'A field of the body, a parameter or a header is invalid; `errors` names the invalid fields.',
  },
  invalid_cursor: {
    status: 400,
    title: 'Invalid cursor',
    meaning: 'The cursor was changed, or belongs to another list or to other filters.',
  },
  scope_widened: {
    status: 400,
    title: 'Scope widened',
    meaning: 'An approval may narrow the requested scope, but never widen it.',
  },
  invalid_assertion: {
    status: 400,
    title: 'Invalid assertion',
    meaning: 'The passkey does not belong to the voter, or it did not sign exactly this decision.',
  },
  unauthorized: {
    status: 401,
    title: 'Unauthorized',
    meaning: 'The credential is missing, malformed, unknown, expired or revoked.',
  },
  account_stopped: {
    status: 403,
    title: 'Account stopped',
    meaning:
      'The account is stopped: until somebody resumes it, nothing is requested, approved or used.',
  },
  insufficient_scope: {
    status: 403,
    title: 'Insufficient scope',
    meaning: 'The user token lacks the scope that this operation needs.',
  },
  insufficient_role: {
    status: 403,
    title: 'Insufficient role',
    meaning: 'The caller may not give this role, or may not change a member with it.',
  },
  person_required: {
    status: 403,
    title: 'Person required',
    meaning:
      'Only a member can do this: a review policy applies, the decision is to be signed, or the settings are personal.',
  },
  not_a_reviewer: {
    status: 403,
    title: 'Not a reviewer',
    meaning:
      'The review of the request does not name the caller, or the caller became a reviewer after the request.',
  },
  self_approval: {
    status: 403,
    title: 'Self-approval',
    meaning:
      "The caller owns the agent, or owned it when it asked, and the review does not let the agent's owner approve.",
  },
  passkey_required: {
    status: 403,
    title: 'Passkey required',
    meaning: 'The review demands that every approval is signed with a passkey.',
  },
  wrong_reporter: {
    status: 403,
    title: 'Wrong reporter',
    meaning: 'Only the caller that used the token can report the outcome of the act.',
  },
  plan_required: {
    status: 403,
    title: 'Plan required',
    meaning: "The account's plan does not include this.",
  },
  agent_inactive: { status: 403, title: 'Agent inactive', meaning: 'The agent is inactive.' },
  invalid_signature: {
    status: 403,
    title: 'Invalid signature',
    meaning:
      'The signature of a download address or of a Slack request is missing, wrong or too old.',
  },
  account_inactive: {
    status: 403,
    title: 'Account inactive',
    meaning: 'The account is inactive, or the member is suspended.',
  },
  wrong_credential: {
    status: 403,
    title: 'Wrong credential',
    meaning: 'The credential is valid, but this operation does not accept its kind.',
  },
  permission_pending: {
    status: 403,
    title: 'Permission pending',
    meaning:
      'Nobody has decided yet whether the connection may send the request. The same request finds the decision later.',
  },
  permission_denied: {
    status: 403,
    title: 'Permission denied',
    meaning: 'The connection sends nothing: the request was denied, or its permission was revoked.',
  },
  permission_expired: {
    status: 403,
    title: 'Permission expired',
    meaning:
      'The connection sends nothing: the request expired or was withdrawn, or its approval was not used in time.',
  },
  connection_refused: {
    status: 403,
    title: 'Connection refused',
    meaning:
      'The connection sends nothing: it is switched off, or its rules do not allow the request.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning: 'The resource does not exist, or it belongs to another account.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path does not accept this method; `Allow` lists the methods that it accepts.',
  },
  not_pending: {
    status: 409,
    title: 'Not pending',
    meaning: 'The request was already decided, or has expired.',
  },
  already_voted: {
    status: 409,
    title: 'Already voted',
    meaning: 'The caller has approved the request already.',
  },
  external_id_conflict: {
    status: 409,
    title: 'External id conflict',
    meaning: 'The agent has another request with this `external_id`.',
  },
  token_not_active: {
    status: 409,
    title: 'Token not active',
    meaning: 'The token cannot be used; `reason` says why.',
    reasons: ['expired', 'used', 'revoked', 'unknown', 'mismatch', 'agent_inactive'],
  },
  already_used: {
    status: 409,
    title: 'Already used',
    meaning:
      'The connection has sent this request before, and does not send it again; `outcome` says what is known about it.',
  },
  conflict: {
    status: 409,
    title: 'Conflict',
    meaning:
      'A limit of the account is reached, a concurrent request changed the resource, or the state of the resource does ' +
      'not allow the operation.',
  },
  last_owner: {
    status: 409,
    title: 'Last owner',
    meaning: 'The account would be left without an active owner.',
  },
  log_refused: {
    status: 409,
    title: 'Log refused',
    meaning:
      'The log in the database is inconsistent with its signed heads. The service makes no more signatures and proofs for it.',
  },
  download_expired: {
    status: 410,
    title: 'Download expired',
    meaning: 'The signed address or its file has expired.',
  },
  payload_too_large: {
    status: 413,
    title: 'Payload too large',
    meaning:
      'The body is larger than the operation accepts, which is 1 MiB unless it says otherwise.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'This operation does not accept the content type of the body.',
  },
  range_not_satisfiable: {
    status: 416,
    title: 'Range not satisfiable',
    meaning:
      'The file has none of the bytes that `Range` requests; `Content-Range` contains its size.',
  },
  idempotency_key_reuse: {
    status: 422,
    title: 'Idempotency key reused',
    meaning: 'The `Idempotency-Key` was already used for another request.',
  },
  too_many_exports: {
    status: 429,
    title: 'Too many exports',
    meaning:
      'The account has the maximum number of exports and reports in progress; send the request again after `Retry-After`.',
  },
  rate_limited: {
    status: 429,
    title: 'Rate limited',
    meaning: 'There were too many requests; send the request again after `Retry-After`.',
  },
  internal: { status: 500, title: 'Internal error', meaning: 'The service failed unexpectedly.' },
  connection_unauthorized: {
    status: 502,
    title: 'Connection unauthorized',
    meaning: 'The service behind the connection refused the credential of the connection.',
  },
  connection_failed: {
    status: 502,
    title: 'Connection failed',
    meaning:
      'The service behind the connection could not be reached, or gave no answer; `detail` says whether the request may ' +
      'have arrived.',
  },
  unavailable: {
    status: 503,
    title: 'Service unavailable',
    meaning: 'The service cannot answer right now; send the request again after `Retry-After`.',
  },
  connection_timeout: {
    status: 504,
    title: 'Connection timeout',
    meaning:
      'The service behind the connection did not answer in time. The request may have arrived nevertheless.',
  },
} as const;

export type ProblemCode = keyof typeof PROBLEMS;

/** One invalid field: its path (such as `body.name`, `query.limit`) and what is wrong with it. */
export interface FieldError {
  path: string;
  message: string;
}

interface ProblemOptions {
  errors?: FieldError[];
  headers?: Record<string, string>;
  /** Extension members of the problem document (RFC 9457 section 3.2). */
  members?: Record<string, Json>;
}

/**
 * An error that the client sees as a problem document (RFC 9457). Independent of HTTP;
 * `http/problem.ts` makes the response.
 */
export class Problem extends Error {
  constructor(
    readonly code: ProblemCode,
    /** Tells the client what is wrong and what to do about it. */
    readonly detail: string,
    readonly options: ProblemOptions = {},
  ) {
    super(detail);
    this.name = 'Problem';
  }
}

/**
 * The problem for a resource that does not exist or belongs to another account; `what` is a noun
 * such as `agent`.
 */
export function notFound(what: string): Problem {
  return new Problem('not_found', `There is no ${what} with this id.`);
}

/** The problem for a request with invalid fields. */
export function invalidRequest(errors: FieldError[]): Problem {
  return new Problem(
    'invalid_request',
    'Correct the fields in `errors`, then send the request again.',
    {
      errors,
    },
  );
}

/**
 * The problem for a request that the service cannot serve now, for example because the database
 * fails or the account moves. The client may send it again. A change may have been made
 * nevertheless.
 */
export function unavailable(): Problem {
  return new Problem(
    'unavailable',
    'The service cannot answer right now. Send the request again in a moment.',
    {
      headers: { 'Retry-After': '1' },
    },
  );
}
