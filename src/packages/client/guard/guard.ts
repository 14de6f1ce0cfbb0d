import type { PermissionRequest } from '../api.ts';
import { checkOptions, type OptionList } from '../check-options.ts';
import { type Duration, MAX_LIFETIME_SECONDS, toMilliseconds, toSeconds } from '../duration.ts';
import { type Act, type ActOptions, describeAct, type Limits } from './act.ts';
import { ask, askAndWait } from './ask.ts';
import { checkApproval } from './check-approval.ts';
import type { GuardClient } from './client.ts';
import { runAndReport, type Summarize } from './report.ts';
import { makePendingError } from './request-decision.ts';
import { takeUse } from './take-use.ts';

/** The request for a call. */
export interface AskedRequest {
  permissionId: string;
  externalId: string;
}

/**
 * The function that does the act. It gets a copy of the approved input, the granted limits, and the
 * request that was approved; no request in shadow mode.
 */
export type GuardedFunction<Input, Output> = (
  input: Input,
  granted: Limits,
  request?: AskedRequest,
) => Output | Promise<Output>;

/** The options that one call of a guarded function can add. */
export interface GuardCall {
  /**
   * Replaces the external id of the options; the id of a `PermissionPending` goes on with that
   * request.
   */
  externalId?: string;
  /** Ends the wait. Once the guard began to take the use, the signal has no effect. */
  signal?: AbortSignal;
}

export type Guarded<Input, Output> = (input: Input, call?: GuardCall) => Promise<Output>;

export interface GuardOptions<Input> extends ActOptions<Input> {
  /**
   * Tells whether the input stays within limits that were narrowed. Without it, narrowed limits
   * throw `GrantNarrowed`.
   */
  fits?: (input: Input, granted: Limits) => boolean | Promise<boolean>;
  /**
   * - `wait` (default) waits for the decision.
   * - `suspend` throws `PermissionPending` at once when people have to decide, and asks for a
   *   request and an approval that live as long as possible, 7 days each.
   * - `shadow` runs the function without asking, and calls `onShadow`. Nothing is sent.
   */
  mode?: 'wait' | 'suspend' | 'shadow';
  /**
   * The longest wait: a text such as `30m`, or milliseconds. `PermissionPending` is thrown then. By
   * default as long as the request lives.
   */
  wait?: Duration;
  /**
   * The fate of a request that still waits when the signal or an error ends the call:
   *
   * - `withdraw` (default) withdraws it, so that nobody decides in vain.
   * - `keep` leaves it to a later call with its external id.
   *
   * In suspend mode, and when `wait` is over, the request is always kept.
   */
  abandoned?: 'withdraw' | 'keep';
  /**
   * Called with the request when people have to decide, for example to show where. Awaited before
   * the wait begins.
   */
  onPending?: (request: AskedRequest & { url: string }) => unknown;
  /**
   * Says in a few words how the act ended, for the people who read its outcome. By default only
   * `OutcomeUnknown` says something: its message.
   */
  summary?: Summarize;
  /** Called in shadow mode with what would have been asked. */
  onShadow?: (request: PermissionRequest) => unknown;
}

/** The options of `guard`. */
export const GUARD_OPTIONS: OptionList<GuardOptions<unknown>> = {
  action: true,
  resource: true,
  scope: true,
  reason: true,
  preview: true,
  series: true,
  externalId: true,
  hideInput: true,
  expiresIn: true,
  tokenTtl: true,
  fits: true,
  mode: true,
  wait: true,
  abandoned: true,
  onPending: true,
  summary: true,
  onShadow: true,
};

const CALL_OPTIONS: OptionList<GuardCall> = { externalId: true, signal: true };

const MODES = ['wait', 'suspend', 'shadow'];
const ABANDONED = ['withdraw', 'keep'];

/** See `Countersign.guard`. */
export function guard<Input, Output>(
  client: GuardClient,
  fn: GuardedFunction<Input, Output>,
  options: GuardOptions<Input>,
): Guarded<Input, Output> {
  checkOptions(options, GUARD_OPTIONS, 'guard()');
  checkValues(options);
  const { mode = 'wait', summary, onShadow } = options;
  return async (input, call = {}) => {
    checkOptions(call, CALL_OPTIONS, 'A guarded call');
    const { externalId, signal } = call;
    const act = await describeCall(input, options, externalId);
    if (mode === 'shadow') {
      await onShadow?.(act.request);
      return fn(JSON.parse(act.canonical), act.request.scope);
    }
    const { permissionId, granted } = await obtainUse(client, act, options, signal);
    const request = { permissionId, externalId: act.externalId };
    const run = () => fn(JSON.parse(act.canonical), granted, request);
    return runAndReport(client, permissionId, run, summary);
  };
}

/** An approval whose one use is taken: its act may run now, once. */
export interface TakenUse {
  permissionId: string;
  granted: Limits;
}

/**
 * Asks for an act, waits for the decision unless in suspend mode, and takes the use. Whoever runs
 * the act reports its outcome.
 * @throws GuardError when the act may not run
 */
export async function obtainUse<Input>(
  client: GuardClient,
  act: Act,
  options: GuardOptions<Input>,
  signal: AbortSignal | undefined,
): Promise<TakenUse> {
  const obtainPermission = options.mode === 'suspend' ? ask : askAndWait;
  const permission = await obtainPermission(client, act, options, signal);
  if (permission.status === 'pending') throw makePendingError(act, permission);
  const approval = await checkApproval(act, permission, options.fits);
  signal?.throwIfAborted();
  const granted = await takeUse(client, act, approval);
  return { permissionId: permission.id, granted };
}

/** @throws TypeError for a value of an option that is none of those it can have */
export function checkValues(options: Partial<GuardOptions<never>>): void {
  const { mode = 'wait', abandoned = 'withdraw', wait, expiresIn, tokenTtl } = options;
  checkChoice('mode', mode, MODES);
  checkChoice('abandoned', abandoned, ABANDONED);
  toMilliseconds(wait, 'wait');
  toSeconds(expiresIn, 'expiresIn');
  toSeconds(tokenTtl, 'tokenTtl');
}

function checkChoice(name: string, value: string, choices: string[]): void {
  if (choices.includes(value)) return;
  throw new TypeError(`The ${name} ${JSON.stringify(value)} is not ${choices.join(', ')}.`);
}

/** Describes a call of a guarded function, in suspend mode with the longest life. */
export function describeCall<Input>(
  input: Input,
  options: GuardOptions<Input>,
  externalId: string | undefined,
): Promise<Act> {
  if (options.mode !== 'suspend') return describeAct(input, options, externalId);
  const longest = { expiresIn: MAX_LIFETIME_SECONDS, tokenTtl: MAX_LIFETIME_SECONDS };
  return describeAct(input, { ...longest, ...options }, externalId);
}
