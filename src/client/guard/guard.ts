import type { Permission, PermissionRequest } from '../api.ts';
import { type Act, type ActOptions, describeAct, type Limits } from './act.ts';
import type { GuardClient } from './client.ts';
import { checkApproval, makePendingError, requestPermission, waitForDecision } from './request-decision.ts';
import { takeUse } from './take-use.ts';

/** The request for a call. */
export interface AskedRequest {
  permissionId: string;
  externalId: string;
}

/**
 * The function that does the act. It gets a copy of the approved input, the granted limits, and the request that was
 * approved; no request in shadow mode.
 */
export type GuardedFunction<Input, Output> = (
  input: Input,
  granted: Limits,
  request?: AskedRequest,
) => Output | Promise<Output>;

/** What one call of a guarded function can add. */
export interface GuardCall {
  /** Replaces the external id of the options; the id of a `PermissionPending` goes on with that request. */
  externalId?: string;
  /** Ends the wait. Once the guard began to take the use, the signal has no effect. */
  signal?: AbortSignal;
}

export type Guarded<Input, Output> = (input: Input, call?: GuardCall) => Promise<Output>;

export interface GuardOptions<Input> extends ActOptions<Input> {
  /** Tells whether the input stays within limits that were narrowed. Without it, narrowed limits throw `GrantNarrowed`. */
  fits?: (input: Input, granted: Limits) => boolean | Promise<boolean>;
  /**
   * - `wait` (default) waits for the decision.
   * - `suspend` throws `PermissionPending` at once when people have to decide, and asks for a request and an approval
   *   that live as long as possible, 7 days each.
   * - `shadow` runs the function without asking, and calls `onShadow`. Nothing is sent.
   */
  mode?: 'wait' | 'suspend' | 'shadow';
  /** The longest wait in milliseconds, then `PermissionPending` is thrown; by default as long as the request lives. */
  wait?: number;
  /** Called with the request when people have to decide, for example to show where. Awaited before the wait begins. */
  onPending?: (request: AskedRequest & { url: string }) => unknown;
  /** Called in shadow mode with what would have been asked. */
  onShadow?: (request: PermissionRequest) => unknown;
}

const MODES = ['wait', 'suspend', 'shadow'];

/** How long a suspended request and its approval live, in seconds: the most that the service allows. */
const SUSPENDED_SECONDS = 604_800;

/** See `Countersign.guard`. */
export function guard<Input, Output>(
  client: GuardClient,
  fn: GuardedFunction<Input, Output>,
  options: GuardOptions<Input>,
): Guarded<Input, Output> {
  const { mode = 'wait', fits, wait, onShadow } = options;
  if (!MODES.includes(mode)) throw new TypeError(`The mode ${JSON.stringify(mode)} is not ${MODES.join(', ')}.`);
  return async (input, { externalId, signal } = {}) => {
    const act = await describeCall(input, options, externalId);
    if (mode === 'shadow') {
      await onShadow?.(act.request);
      return fn(JSON.parse(act.canonical), act.request.scope);
    }
    let permission = await ask(client, act, options, signal);
    if (permission.status === 'pending') {
      if (mode === 'suspend') throw makePendingError(act, permission);
      permission = await waitForDecision(client, act, permission, { wait, signal });
    }
    const approval = await checkApproval(act, permission, fits);
    signal?.throwIfAborted();
    const granted = await takeUse(client, act, approval);
    const request = { permissionId: permission.id, externalId: act.externalId };
    return fn(JSON.parse(act.canonical), granted, request);
  };
}

/** Describes a call of a guarded function, in suspend mode with the longest life. */
export function describeCall<Input>(
  input: Input,
  options: GuardOptions<Input>,
  externalId: string | undefined,
): Promise<Act> {
  const life = options.mode === 'suspend' ? { expiresIn: SUSPENDED_SECONDS, tokenTtl: SUSPENDED_SECONDS } : {};
  return describeAct(input, { ...life, ...options }, externalId);
}

/** Asks for permission, or finds the earlier request, and tells `onPending` when people have to decide. */
export async function ask(
  client: GuardClient,
  act: Act,
  { onPending }: Pick<GuardOptions<never>, 'onPending'>,
  signal: AbortSignal | undefined,
): Promise<Permission> {
  const permission = await requestPermission(client, act, signal);
  if (permission.status === 'pending') {
    const url = `${client.baseUrl}/console/permissions/${permission.id}`;
    await onPending?.({ permissionId: permission.id, externalId: act.externalId, url });
  }
  return permission;
}
