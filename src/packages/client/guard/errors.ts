import type { Outcome, Permission } from '../api.ts';
import { ApiError, CountersignError } from '../errors.ts';
import type { Json } from '../json.ts';

/** The state of a guarded call when it ended. */
interface GuardState {
  /** Finds the request again: pass it as `externalId` to go on. */
  externalId: string;
  /** The request as it was last read; null when it may never have reached the service. */
  permission: Permission | null;
}

/**
 * Returns a permission without the value of its token, which would be in whatever prints the error.
 */
function withoutSecret(permission: Permission | null): Permission | null {
  if (!permission?.token) return permission;
  const { value: _, ...token } = permission.token;
  return { ...permission, token };
}

/** A guarded function was not run. */
export abstract class GuardError extends CountersignError {
  readonly externalId: string;
  /** The request as it was last read, without the value of its token. */
  readonly permission: Permission | null;

  constructor(message: string, state: GuardState, options?: ErrorOptions) {
    super(message, options);
    this.externalId = state.externalId;
    this.permission = withoutSecret(state.permission);
  }

  get permissionId(): string | null {
    return this.permission?.id ?? null;
  }
}

/** A person or a policy denied the request, or revoked its approval. */
export class PermissionDenied extends GuardError {
  readonly code = 'permission_denied';
}

/** Nobody decided in time, or the request was withdrawn. */
export class PermissionExpired extends GuardError {
  readonly code = 'permission_expired';
}

/** The request was approved, but its token ran out before it was used. */
export class PermissionLapsed extends GuardError {
  readonly code = 'permission_lapsed';
}

/** A use of the approval was taken before. `outcome` says what is known of the act. */
export class AlreadyUsed extends GuardError {
  readonly code = 'already_used';

  /**
   * The report of the program that took the use, or that there is none yet; null where it promised
   * no report, or the service did not say.
   */
  get outcome(): Outcome | null {
    return this.permission?.outcome ?? null;
  }
}

/** The input, or what is asked for it, differs from the request that the external id names. */
export class InputChanged extends GuardError {
  readonly code = 'input_changed';
}

/** The limits were narrowed, and `fits` does not say that the input stays within them. */
export class GrantNarrowed extends GuardError {
  readonly code = 'grant_narrowed';
}

/**
 * The service did not answer, so that the guard cannot know that the call is approved. Call again
 * to go on: if only the answer to the use was lost, that throws `AlreadyUsed`.
 */
export class Unreachable extends GuardError {
  readonly code = 'unreachable';
}

/** The message of {@link AccountStopped}. */
export const STOPPED = 'Somebody stopped all agents of the account. The act did not run.';

/**
 * The account is stopped: nothing is requested, approved or used until somebody resumes it. Call
 * again then.
 */
export class AccountStopped extends GuardError {
  readonly code = 'account_stopped';
}

/** Whether the service refused a call because the account is stopped. */
export function isStop(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'account_stopped';
}

/** The names by which another process goes on with a call: `guarded(input, { externalId })`. */
export interface PendingCall {
  externalId: string;
  permissionId: string;
  input: Json;
  inputDigest: string;
  /** When the request expires undecided. */
  expiresAt: string;
}

/** The request waits for a decision. */
export class PermissionPending extends GuardError {
  readonly code = 'permission_pending';
  readonly call: PendingCall;

  constructor(message: string, call: PendingCall, permission: Permission) {
    super(message, { externalId: call.externalId, permission });
    this.call = call;
  }

  /**
   * Returns the fields that another process needs, so that `JSON.stringify(error)` can be stored.
   */
  toJSON(): PendingCall {
    return this.call;
  }
}

/**
 * Returns the error for a token that cannot be used, by the state or the reason that the service
 * gives.
 */
export function explainInactive(
  reason: string | null,
  state: GuardState,
  options?: ErrorOptions,
): GuardError {
  switch (reason) {
    case 'used':
      return new AlreadyUsed(describeUse(state.permission?.outcome), state, options);
    case 'expired':
      return new PermissionLapsed('The approval ran out before it was used.', state, options);
    case 'mismatch':
      return new InputChanged(
        'The approval is for another input, action or resource.',
        state,
        options,
      );
    case 'revoked':
      return new PermissionDenied('The approval was revoked.', state, options);
    default:
      return new PermissionDenied(`The approval does not hold: ${reason}.`, state, options);
  }
}

function describeUse(outcome: Outcome | null | undefined): string {
  const known = {
    awaited: 'Its outcome was not reported yet: the act may still run.',
    succeeded: 'The act succeeded then, as its program reported.',
    failed: 'The act failed then, as its program reported: part of it may have happened.',
    unknown: 'Whether the act happened is unknown.',
  };
  return `The approval was used before. ${known[outcome?.status ?? 'unknown']}`;
}
