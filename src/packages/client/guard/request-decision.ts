import type { Permission } from '../api.ts';
import { ApiError, isOutage } from '../errors.ts';
import { present } from '../present.ts';
import type { Act } from './act.ts';
import type { GuardClient } from './client.ts';
import {
  AccountStopped,
  InputChanged,
  isStop,
  PermissionPending,
  STOPPED,
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
