import type { Permission } from '../api.ts';
import { type Duration, toMilliseconds } from '../duration.ts';
import type { Act } from './act.ts';
import type { GuardClient } from './client.ts';
import { PermissionPending, Unreachable } from './errors.ts';
import { requestPermission, waitForDecision } from './request-decision.ts';

/** The options of a guard that matter here. */
interface AskOptions {
  onPending?: (request: { permissionId: string; externalId: string; url: string }) => unknown;
}

interface WaitOptions extends AskOptions {
  wait?: Duration;
  abandoned?: 'withdraw' | 'keep';
}

/** How long the end of an abandoned call waits for each answer of the service, in milliseconds. */
const WITHDRAWAL_TIMEOUT = 5_000;

/**
 * Asks for permission, or finds the earlier request, and tells `onPending` when people have to
 * decide.
 */
export async function ask(
  client: GuardClient,
  act: Act,
  options: AskOptions,
  signal: AbortSignal | undefined,
): Promise<Permission> {
  const permission = await requestPermission(client, act, signal);
  await tellPending(client, act, permission, options);
  return permission;
}

/**
 * Asks for permission and waits for the decision. A request that nobody waits for any more is
 * withdrawn, unless it is to be kept.
 * @throws PermissionPending when the longest wait is over
 */
export async function askAndWait(
  client: GuardClient,
  act: Act,
  options: WaitOptions,
  signal: AbortSignal | undefined,
): Promise<Permission> {
  const { abandoned = 'withdraw' } = options;
  const wait = toMilliseconds(options.wait, 'wait');
  signal?.throwIfAborted();
  const isKept = abandoned === 'keep';
  const permission = isKept
    ? await requestPermission(client, act, signal)
    : await requestToTheEnd(client, act, signal);
  if (permission.status !== 'pending') return permission;
  try {
    signal?.throwIfAborted();
    await tellPending(client, act, permission, options);
    return await waitForDecision(client, act, permission, { wait, signal });
  } catch (error) {
    // These say how to go on with the request.
    const isResumable = error instanceof PermissionPending || error instanceof Unreachable;
    if (!isKept && !isResumable) await withdraw(client, permission.id);
    throw error;
  }
}

/**
 * Asks for permission. A request that is on its way when the signal is aborted gets some time to be
 * answered: without its id it could not be withdrawn.
 */
async function requestToTheEnd(
  client: GuardClient,
  act: Act,
  signal: AbortSignal | undefined,
): Promise<Permission> {
  if (!signal) return await requestPermission(client, act, undefined);
  const late = new AbortController();
  const answered = new AbortController();
  const delayAbort = () => {
    const timer = AbortSignal.timeout(WITHDRAWAL_TIMEOUT);
    timer.addEventListener('abort', () => late.abort(signal.reason), { once: true });
  };
  signal.addEventListener('abort', delayAbort, { once: true, signal: answered.signal });
  try {
    return await requestPermission(client, act, late.signal);
  } finally {
    answered.abort();
  }
}

/** Withdraws a request. If that fails, the request expires by itself. */
async function withdraw(client: GuardClient, id: string): Promise<void> {
  await client
    .withdrawPermission(id, { timeout: WITHDRAWAL_TIMEOUT, maxRetries: 0 })
    .catch(() => {});
}

async function tellPending(
  client: GuardClient,
  act: Act,
  permission: Permission,
  { onPending }: AskOptions,
): Promise<void> {
  if (permission.status !== 'pending') return;
  const url = `${client.baseUrl}/console/permissions/${permission.id}`;
  await onPending?.({ permissionId: permission.id, externalId: act.externalId, url });
}
