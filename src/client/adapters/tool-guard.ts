import { digestOf } from '../canonical-json.ts';
import { ask } from '../guard/ask.ts';
import type { GuardClient } from '../guard/client.ts';
import { GuardError, PermissionDenied, PermissionPending, Unreachable } from '../guard/errors.ts';
import { describeCall, type GuardedFunction, guard } from '../guard/guard.ts';
import type { ToolArguments, Treatment } from '../rules/rules.ts';
import type { ToolCallOptions } from './options.ts';

/** One call of a tool. */
export interface ToolCall<Context> {
  /** The framework's id of the call; undefined when the tool is called without one. */
  id: string | undefined;
  /** What the framework gives with the call. */
  context: Context;
  signal?: AbortSignal | undefined;
}

/** Tells a model that a call did not run, and why. */
export interface Refusal {
  status: 'not_run';
  /** The code of the `GuardError`, for example `permission_denied`. */
  code: string;
  message: string;
  /** What the person who decided wrote. */
  reason: string | null;
  permission_id: string | null;
}

/** Guards the calls of one tool, whatever framework makes them. */
export class ToolGuard<Context> {
  readonly #client: GuardClient;
  readonly #treatment: Exclude<Treatment, 'allow'>;
  readonly #options: ToolCallOptions<Context>;
  /** What the tool itself threw, which may be the error of another guard: the tool has run then. */
  readonly #thrown = new WeakSet<object>();
  /** The calls for which `needsDecision` could not ask, by their external ids. */
  readonly #unasked = new Map<string, Unreachable>();

  constructor(client: GuardClient, treatment: Exclude<Treatment, 'allow'>, options: ToolCallOptions<Context>) {
    this.#client = client;
    this.#treatment = treatment;
    this.#options = options;
  }

  /** Whether a call that waits for people ends the run until they have decided. */
  get isSuspending(): boolean {
    return this.#treatment !== 'deny' && this.#treatment.mode === 'suspend';
  }

  /**
   * Asks for a call before it runs, and tells whether people have to decide it. A failure counts as no: the run goes on,
   * and `run` refuses the call. If the service did not answer, `run` does not ask again, even if it would answer now:
   * a request that people have to decide would be lost, because the run was not paused for it.
   */
  async needsDecision(input: ToolArguments, call: ToolCall<Context>): Promise<boolean> {
    const treatment = this.#treatment;
    if (treatment === 'deny') return false;
    try {
      const act = await describeCall(input, treatment, await this.#externalId(call));
      return (await ask(this.#client, act, treatment, call.signal)).status === 'pending';
    } catch (error) {
      if (error instanceof Unreachable) this.#unasked.set(error.externalId, error);
      return false;
    }
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
      throw new PermissionDenied('A rule denies this tool.', { externalId: externalId ?? '', permission: null });
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

  /** Whether the call did not run, for a reason that a guard gives. */
  isRefusal(error: unknown): error is GuardError {
    return error instanceof GuardError && !this.#thrown.has(error);
  }

  /**
   * Returns what to tell the model about a call that did not run.
   * @throws the error itself when the call ran or failed otherwise, or when the caller wants refusals thrown
   */
  refuse(error: unknown): Refusal {
    if (!this.isRefusal(error) || this.#options.refusals === 'throw') throw error;
    return {
      status: 'not_run',
      code: error.code,
      message:
        error instanceof PermissionPending ? `${error.message} Do not call the tool again for it.` : error.message,
      reason: error.permission?.decision_reason ?? null,
      permission_id: error.permissionId,
    };
  }

  async #externalId({ id, context }: ToolCall<Context>): Promise<string | undefined> {
    if (id) return externalIdOf(id, context, this.#options);
    if (this.isSuspending) throw new TypeError('Only a call with an id can be suspended: its id finds it again.');
    return undefined;
  }
}

/** Returns the external id of a tool call. It is the same whenever the same call is made again. */
export async function externalIdOf<Context>(
  id: string,
  context: Context,
  { run }: ToolCallOptions<Context>,
): Promise<string> {
  const runId = typeof run === 'function' ? run(context) : run;
  const name = runId === undefined ? id : `${encodeURIComponent(runId)}/${id}`;
  return /^[\x21-\x7e]{1,255}$/.test(name) ? name : digestOf(name);
}
