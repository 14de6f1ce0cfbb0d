import type { Permission } from '../api.ts';
import { ApiError, isOutage } from '../errors.ts';
import type { Act, Limits } from './act.ts';
import type { Approval } from './check-approval.ts';
import type { GuardClient } from './client.ts';
import { AccountStopped, explainInactive, isStop, STOPPED, Unreachable } from './errors.ts';
import { OUTAGE_PAUSE } from './request-decision.ts';

/** How long the guard tries to take the use while the service does not answer, in milliseconds. */
const USE_TIMEOUT = 120_000;

/** How long the service has to say what became of an earlier use, in milliseconds. */
const READ_TIMEOUT = 5_000;

const STOPPED_LATE = `${STOPPED} Whether the approval was used up is unknown.`;
const UNKNOWN_USE =
  'The service did not answer. The act did not run; whether the approval was used up is unknown.';

/**
 * Takes the one use of the approval, and returns the granted limits.
 *
 * The idempotency key is random, and the same in all attempts: a repeated attempt is answered like
 * the first, but another process that resumes the same request is refused. So exactly one of them
 * gets the use. Only this call knows the key, so it goes on trying for two minutes: an approval
 * whose use was taken unanswered would be lost.
 */
export async function takeUse(client: GuardClient, act: Act, approval: Approval): Promise<Limits> {
  const { action, resource } = act.request;
  const use = { token: approval.token, action, resource, input_digest: act.inputDigest };
  const options = { idempotencyKey: crypto.randomUUID() };
  const state = { externalId: act.externalId, permission: approval.permission };
  const deadline = client.clock.now() + USE_TIMEOUT;
  // Whether an attempt was not answered, which may have taken the use.
  let isUnknown = false;
  for (;;) {
    try {
      const used = await client.useToken(use, options);
      return used.scope as Limits;
    } catch (error) {
      const cause = { cause: error };
      if (error instanceof ApiError && error.code === 'token_not_active') {
        const permission = await readAgain(client, approval.permission);
        throw explainInactive(error.reason, { ...state, permission }, cause);
      }
      if (isStop(error)) throw new AccountStopped(isUnknown ? STOPPED_LATE : STOPPED, state, cause);
      if (!isOutage(error)) throw error;
      isUnknown = true;
      if (client.clock.now() >= deadline) throw new Unreachable(UNKNOWN_USE, state, cause);
      await client.clock.sleep(OUTAGE_PAUSE);
    }
  }
}

/**
 * Reads the permission as it is now, with its outcome; as it was if the service does not answer.
 */
async function readAgain(client: GuardClient, permission: Permission): Promise<Permission> {
  return await client
    .getPermission(permission.id, {}, { timeout: READ_TIMEOUT, maxRetries: 0 })
    .catch(() => permission);
}
