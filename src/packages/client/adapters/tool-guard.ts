import type { Permission } from '../api.ts';
import { digestOf, outsideJsonFault } from '../canonical-json.ts';
import { ApiError, type FieldError } from '../errors.ts';
import type { Limits } from '../guard/act.ts';
import { ask } from '../guard/ask.ts';
import type { GuardClient } from '../guard/client.ts';
import {
  AccountStopped,
  GrantNarrowed,
  GuardError,
  InputChanged,
  PermissionDenied,
  PermissionPending,
  Unreachable,
} from '../guard/errors.ts';
import { describeCall, type GuardedFunction, guard } from '../guard/guard.ts';
import type { ToolArguments, Treatment } from '../rules/rules.ts';
import type { ToolCallOptions } from './options.ts';

/** One call of a tool. */
export interface ToolCall<Context> {
  /** The framework's id of the call; undefined when the tool is called without one. */
  id: string | undefined;
  /** The context that the framework gives with the call. */
  context: Context;
  signal?: AbortSignal | undefined;
}

/** Tells a model that a call did not run, and why. */
export interface Refusal {
  status: 'not_run';
  /** The code of the error, for example `permission_denied` or `invalid_request`. */
  code: string;
  message: string;
  /** The reason of the person who decided. */
  reason: string | null;
  permission_id: string | null;
  /** The granted limits, where the call needs wider ones. */
  granted?: Limits;
  /** The advice on a refusal that no decision changes, such as arguments that are too large. */
  detail?: string;
  /** The refused fields, where no decision changes the refusal. */
  errors?: FieldError[];
}

/** A refusal that no decision changes. */
interface FinalRefusal {
  code: string;
  detail: string;
  errors: FieldError[];
}

/** Returns what to tell a model about a call that Countersign did not even ask for. */
export function refuseFinally({ code, detail, errors }: FinalRefusal): Refusal {
  const message = [detail, ...errors.map((error) => `${error.path} ${error.message}.`)].join(' ');
  return { status: 'not_run', code, message, reason: null, permission_id: null, detail, errors };
}

/** Guards the calls of one tool, whatever framework makes them. */
export class ToolGuard<Context> {
  readonly #client: GuardClient;
  readonly #treatment: Exclude<Treatment, 'allow'>;
  readonly #options: ToolCallOptions<Context>;
  /** The error of the tool itself, which may be that of another guard: the tool has run then. */
  readonly #thrown = new WeakSet<object>();
  /** The calls for which `needsDecision` could not ask, by their external ids. */
  readonly #unasked = new Map<string, Unreachable | AccountStopped>();

  constructor(
    client: GuardClient,
    treatment: Exclude<Treatment, 'allow'>,
    options: ToolCallOptions<Context>,
  ) {
    this.#client = client;
    this.#treatment = treatment;
    this.#options = options;
  }

  /** Whether a call that waits for people ends the run until they have decided. */
  get isSuspending(): boolean {
    return this.#treatment !== 'deny' && this.#treatment.mode === 'suspend';
  }

  /**
   * Asks for a call before it runs, and tells whether it is for people to decide. The answer stays
   * the same when they have decided. A failure counts as no: the run goes on, and `run` refuses the
   * call. If the service did not answer, or the account is stopped, `run` does not ask again, even
   * if it would be answered now: a request that people have to decide would be lost, because the
   * run was not paused for it.
   */
  async needsDecision(input: ToolArguments, call: ToolCall<Context>): Promise<boolean> {
    if (this.#treatment === 'deny') return false;
    try {
      return isForPeople(await this.#ask(input, call));
    } catch (error) {
      if (error instanceof Unreachable || error instanceof AccountStopped)
        this.#unasked.set(error.externalId, error);
      return false;
    }
  }

  /**
   * Tells whether a call that is for people to decide waits for them no longer. One whose arguments
   * changed meanwhile does not wait: nobody can approve it.
   * @throws Unreachable, AccountStopped and ApiError when the service does not say
   */
  async isDecided(input: ToolArguments, call: ToolCall<Context>): Promise<boolean> {
    try {
      const permission = await this.#ask(input, call);
      return permission.status !== 'pending' && isForPeople(permission);
    } catch (error) {
      if (error instanceof InputChanged) return true;
      throw error;
    }
  }

  async #ask(input: ToolArguments, call: ToolCall<Context>): Promise<Permission> {
    const treatment = this.#treatment;
    if (treatment === 'deny') throw new TypeError('A tool that a rule denies asks nobody.');
    const act = await describeCall(input, treatment, await this.#externalId(call));
    return ask(this.#client, act, treatment, call.signal);
  }

  /**
   * Runs the tool with a copy of the input after the call was approved.
   * @throws GuardError when the tool did not run
   */
  async run<Output>(
    input: ToolArguments,
    call: ToolCall<Context>,
    act: GuardedFunction<ToolArguments, Output>,
  ): Promise<Output> {
    const externalId = await this.#externalId(call);
    if (this.#treatment === 'deny') {
      throw new PermissionDenied('A rule denies this tool.', {
        externalId: externalId ?? '',
        permission: null,
      });
    }
    const unasked = this.#unasked.get(externalId ?? '');
    if (unasked) {
      this.#unasked.delete(unasked.externalId);
      throw unasked;
    }
    const { signal } = call;
    const guarded = guard(
      this.#client,
      async (copy: ToolArguments, granted) => {
        try {
          return await act(copy, granted);
        } catch (error) {
          if (typeof error === 'object' && error !== null) this.#thrown.add(error);
          throw error;
        }
      },
      this.#treatment,
    );
    return guarded(input, { ...(externalId && { externalId }), ...(signal && { signal }) });
  }

  /** Whether the call did not run, because of what Countersign or the guard says. */
  isRefusal(error: unknown): boolean {
    if (!(error instanceof Error) || this.#thrown.has(error)) return false;
    return (
      error instanceof GuardError ||
      error instanceof ApiError ||
      outsideJsonFault(error) !== undefined
    );
  }

  /**
   * Returns what to tell the model about a call that did not run.
   * @throws the error itself when the call ran or failed otherwise, or when the caller wants
   *   refusals thrown
   */
  refuse(error: unknown): Refusal {
    if (!this.isRefusal(error) || this.#options.refusals === 'throw') throw error;
    if (error instanceof ApiError) return refuseFinally(error);
    const fault = outsideJsonFault(error);
    if (fault) {
      const detail = 'Correct the arguments.';
      return refuseFinally({ code: 'invalid_request', detail, errors: [fault] });
    }
    if (!(error instanceof GuardError)) throw error;
    let { message } = error;
    if (error instanceof PermissionPending) message += ' Do not call the tool again for it.';
    if (error instanceof AccountStopped) message += ' Do not try again or in another way.';
    return {
      status: 'not_run',
      code: error.code,
      message,
      reason: error.permission?.decision_reason ?? null,
      permission_id: error.permissionId,
      ...(error instanceof GrantNarrowed && { granted: error.permission?.granted_scope as Limits }),
    };
  }

  async #externalId({ id, context }: ToolCall<Context>): Promise<string | undefined> {
    if (id) return externalIdOf(id, context, this.#options);
    if (this.isSuspending)
      throw new TypeError('Only a call with an id can be suspended: its id finds it again.');
    return undefined;
  }
}

/**
 * Whether neither a policy nor a series decided a request: then people decide or decided it, or it
 * expired before they did. A series decides as the permission whose approval gave it.
 */
export function isForPeople({ decided_by: decidedBy }: Permission): boolean {
  return !/^(policy|perm)_/.test(decidedBy ?? '');
}

/** Returns the external id of a tool call. It is the same whenever the same call is made again. */
export async function externalIdOf<Context>(
  id: string,
  context: Context,
  { run }: ToolCallOptions<Context>,
): Promise<string> {
  const runId = typeof run === 'function' ? run(context) : run;
  let name = id;
  if (runId !== undefined) name = `${encodeURIComponent(runId)}/${id}`;
  if (!/^[\x21-\x7e]{1,255}$/.test(name)) name = await digestOf(name);
  return name;
}
