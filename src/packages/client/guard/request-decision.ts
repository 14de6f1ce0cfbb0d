import type { Permission } from '../api.ts';
import { canonicalJson, isEqualJson } from '../canonical-json.ts';
import { ApiError, isOutage } from '../errors.ts';
import { present } from '../present.ts';
import type { Act, Limits } from './act.ts';
import type { GuardClient } from './client.ts';
import {
  AccountStopped,
  explainInactive,
  GrantNarrowed,
  InputChanged,
  isStop,
  PermissionDenied,
  PermissionExpired,
  PermissionPending,
  Unreachable,
} from './errors.ts';

/**
 * How long a GET of the permission waits for the decision, in seconds: the most that the service
 * allows.
 */
const POLL_SECONDS = 25;

/** How long the answer may take beyond that, in milliseconds. */
const ANSWER_TIME = 10_000;

/** Pause before the next attempt while the service does not answer, in milliseconds. */
export const OUTAGE_PAUSE = 5_000;

/**
 * How long the guard waits beyond the request's own life for the service to say that it expired.
 * Milliseconds.
 */
const EXPIRY_GRACE_MS = 60_000;

/** The message of `AccountStopped`. */
export const STOPPED = 'Somebody stopped all agents of the account. The act did not run.';

/** A permission that was approved for exactly this input, with a token that can be used. */
export interface Approval {
  permission: Permission;
  token: string;
  granted: Limits;
}

/** Asks for permission, or finds the earlier request with the same external id. */
export async function requestPermission(
  client: GuardClient,
  act: Act,
  signal: AbortSignal | undefined,
): Promise<Permission> {
  const state = { externalId: act.externalId, permission: null };
  try {
    return await client.requestPermission(act.request, present({ signal }));
  } catch (error) {
    if (error instanceof ApiError && error.code === 'external_id_conflict') {
      throw new InputChanged(
        'The request with this external id was made for another input, action, resource or scope.',
        state,
        { cause: error },
      );
    }
    if (isStop(error)) throw new AccountStopped(STOPPED, state, { cause: error });
    if (!isOutage(error)) throw error;
    const message = `The service at ${client.baseUrl} could not be asked.`;
    throw new Unreachable(message, state, { cause: error });
  }
}

/**
 * Waits until the request is decided. While the service does not answer, it goes on asking until
 * the time is over.
 * @param wait the longest wait in milliseconds; undefined waits as long as the request can be
 *   decided
 * @throws PermissionPending when the time is over
 * @throws Unreachable when the service did not answer at the end
 */
export async function waitForDecision(
  client: GuardClient,
  act: Act,
  asked: Permission,
  { wait, signal }: { wait: number | undefined; signal: AbortSignal | undefined },
): Promise<Permission> {
  const { clock } = client;
  // A duration, not a time of the service: the clocks may differ.
  const life = Date.parse(asked.expires_at) - Date.parse(asked.created_at);
  const deadline = clock.now() + Math.min(wait ?? Number.POSITIVE_INFINITY, life + EXPIRY_GRACE_MS);
  let permission = asked;
  let outage: unknown;
  while (permission.status === 'pending') {
    const left = deadline - clock.now();
    if (left <= 0) {
      const state = { externalId: act.externalId, permission };
      if (!outage) throw makePendingError(act, permission);
      const message = 'The service did not answer while the call waited.';
      throw new Unreachable(message, state, { cause: outage });
    }
    try {
      const seconds = Math.min(POLL_SECONDS, Math.ceil(left / 1000));
      const timeout = seconds * 1000 + ANSWER_TIME;
      permission = await client.getPermission(
        permission.id,
        { wait: seconds },
        { timeout, maxRetries: 0, ...present({ signal }) },
      );
      outage = undefined;
    } catch (error) {
      if (!isOutage(error)) throw error;
      outage = error;
      const pause = Math.max(OUTAGE_PAUSE, (error instanceof ApiError && error.retryAfter) || 0);
      await clock.sleep(Math.min(pause, left), signal);
    }
  }
  return permission;
}

/** Makes the error of a call that waits for its decision. */
export function makePendingError(act: Act, permission: Permission): PermissionPending {
  const call = {
    externalId: act.externalId,
    permissionId: permission.id,
    input: JSON.parse(act.canonical),
    inputDigest: act.inputDigest,
    expiresAt: permission.expires_at,
  };
  return new PermissionPending('The request waits for a decision.', call, permission);
}

/**
 * Returns the approval of a decided request.
 * @throws GuardError when it is not approved, not for this input, or not with the limits that the
 *   input needs
 */
export async function checkApproval<Input>(
  act: Act,
  permission: Permission,
  fits: ((input: Input, granted: Limits) => boolean | Promise<boolean>) | undefined,
): Promise<Approval> {
  const state = { externalId: act.externalId, permission };
  const { status, token } = permission;
  if (status === 'denied') throw new PermissionDenied(describeDenial(permission), state);
  // Only an approved request has a token.
  if (!token)
    throw new PermissionExpired('Nobody decided in time, or the request was withdrawn.', state);
  if (permission.input_digest !== act.inputDigest)
    throw new InputChanged('Another input was approved.', state);
  if (token.status !== 'active') throw explainInactive(token.status, state);
  // Only an agent key gets this far, and it gets every active token but those of a stopped account.
  if (!token.value) throw new AccountStopped(STOPPED, state);

  const granted = (permission.granted_scope ?? permission.scope) as Limits;
  // Only true counts, so that a function that answers something else by mistake lets nothing pass.
  const isAcceptable =
    isEqualJson(granted, act.request.scope) ||
    (await fits?.(JSON.parse(act.canonical), granted)) === true;
  if (!isAcceptable)
    throw new GrantNarrowed(`The limits were narrowed to ${canonicalJson(granted)}.`, state);
  return { permission, token: token.value, granted };
}

function describeDenial({ decision_reason: reason }: Permission): string {
  if (!reason) return 'The request was denied.';
  return `The request was denied. The reason: ${reason}`;
}
