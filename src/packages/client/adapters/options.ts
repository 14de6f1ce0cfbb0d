import type { OptionList } from '../check-options.ts';
import type { Countersign } from '../countersign.ts';
import type { Limits } from '../guard/act.ts';
import type { GuardOptions } from '../guard/guard.ts';
import { ASK_RULE_OPTIONS, RULES_OPTIONS, type Rules, type ToolArguments } from '../rules/rules.ts';

/** The options of an adapter for the calls of a tool. */
export interface ToolCallOptions<Context> {
  /**
   * Names the run or the conversation, for a model whose ids of tool calls repeat in another one.
   * It has to be the same when the run is resumed.
   */
  run?: string | ((context: Context) => string | undefined);
  /**
   * Whether a call that did not run gives the model a result that says so (default), or throws the
   * `GuardError`.
   */
  refusals?: 'result' | 'throw';
}

/** How `guardTool` guards one tool. */
export type ToolOptions<Context> = Omit<GuardOptions<ToolArguments>, 'externalId'> &
  ToolCallOptions<Context>;

/** How `wrapTools` guards many tools. */
export interface ToolRules<Context = unknown> extends Rules, ToolCallOptions<Context> {
  /**
   * By default a client made from the environment variables `COUNTERSIGN_URL` and
   * `COUNTERSIGN_API_KEY`.
   */
  countersign?: Countersign;
}

const CALL_OPTIONS: OptionList<ToolCallOptions<unknown>> = { run: true, refusals: true };

/** The options of `guardTool`. */
export const TOOL_OPTIONS: OptionList<ToolOptions<unknown>> = {
  ...ASK_RULE_OPTIONS,
  ...CALL_OPTIONS,
};

/** The options of `wrapTools`. */
export const TOOL_RULES: OptionList<ToolRules<unknown>> = {
  ...RULES_OPTIONS,
  ...CALL_OPTIONS,
  countersign: true,
};

/** The fields that an adapter adds to the last argument of a tool's function. */
export interface Granted {
  /** The granted limits. */
  granted?: Limits;
}
