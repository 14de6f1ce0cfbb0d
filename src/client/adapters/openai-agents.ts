import { type Schema, Validator } from '@cfworker/json-schema';
import { type FunctionTool, invokeFunctionTool, type RunContext, type Tool } from '@openai/agents';
import type { Countersign } from '../countersign.ts';
import { parseExactJson } from '../exact-json.ts';
import type { Limits } from '../guard/act.ts';
import { guardOf, guardsOf, notGuardable } from './guards.ts';
import type { ToolOptions, ToolRules } from './options.ts';
import { override } from './override.ts';
import type { Refusal, ToolGuard } from './tool-guard.ts';

export type { Granted, ToolCallOptions, ToolOptions, ToolRules } from './options.ts';
export type { Refusal } from './tool-guard.ts';

// biome-ignore lint/suspicious/noExplicitAny: the context and the parameters are the tool's own
type AnyFunctionTool = FunctionTool<any, any, any>;
// biome-ignore lint/suspicious/noExplicitAny: the context is the application's own
type AnyRunContext = RunContext<any>;

type CallDetails = Parameters<AnyFunctionTool['invoke']>[2];

/**
 * Returns the tool with its execution guarded: it runs only after its call was approved, once, with the approved input.
 *
 * In suspend mode a call that people have to decide interrupts the run. Run its state again when they have decided:
 * the run goes on by itself, and stays interrupted as long as they have not. `state.approve` does not replace their
 * decision.
 */
export function guardTool<T extends AnyFunctionTool>(
  countersign: Countersign,
  tool: T,
  options: ToolOptions<AnyRunContext>,
): T {
  return wrapTool(tool, guardOf(countersign, options));
}

/**
 * Returns the tools with their executions guarded by the rules, by default all of them.
 * @throws TypeError for a tool that is no function tool and is not allowed
 */
export function wrapTools<T extends Tool>(tools: readonly T[], rules: ToolRules<AnyRunContext> = {}): T[] {
  const guardOf = guardsOf(rules);
  return tools.map((tool) => {
    const guard = guardOf(tool.name);
    if (!guard) return tool;
    if (tool.type !== 'function') throw notGuardable(tool.name);
    return wrapTool(tool as T & AnyFunctionTool, guard);
  });
}

function wrapTool<T extends AnyFunctionTool>(tool: T, guard: ToolGuard<AnyRunContext>): T {
  const findFault = argumentCheck(tool.parameters as Schema);

  const invoke = async (context: AnyRunContext, input: string, details: CallDetails) => {
    const call = { id: details?.toolCall?.callId, context, signal: details?.signal };
    const act = (copy: unknown, granted: Limits) => {
      // Also keeps the time limit of the tool.
      return invokeFunctionTool({
        tool,
        runContext: context,
        input: JSON.stringify(copy),
        details: { ...details, granted } as NonNullable<CallDetails>,
      });
    };
    const parsed = parse(input);
    const fault = findFault(parsed);
    if (fault) return JSON.stringify(invalidArguments(fault));
    try {
      return await guard.run(parsed, call, act);
    } catch (error) {
      return JSON.stringify(guard.refuse(error));
    }
  };

  // The guard asks also where the tool has a rule of its own: otherwise people would be asked only after the run went on.
  const needsApproval = async (context: AnyRunContext, input: unknown, id?: string) => {
    // `invoke` refuses such a call. Nobody is asked for it.
    if (findFault(input)) return false;
    const waits = await guard.needsDecision(input, { id, context });
    return waits || tool.needsApproval(context, input as never, id);
  };

  // The time limit is the tool's, not that of the wait for a decision.
  return override(tool, { invoke, timeoutMs: undefined, ...(guard.isSuspending && { needsApproval }) });
}

/** Returns a function that says what is wrong with the arguments of a call; null if nothing is. */
function argumentCheck(schema: Schema): (input: unknown) => string | null {
  const draft = String(schema.$schema).includes('draft-07') ? '7' : '2020-12';
  const validator = new Validator(schema, draft);
  return (input) => {
    if (input === undefined)
      return 'The arguments are not JSON, or have a number that a double would round or a name twice.';
    // The last error is that of the innermost value.
    const fault = validator.validate(input).errors.at(-1);
    return fault ? `The arguments break the schema of the tool at ${fault.instanceLocation}: ${fault.error}` : null;
  };
}

function invalidArguments(fault: string): Refusal {
  const message = `${fault} Call the tool again with valid ones.`;
  return { status: 'not_run', code: 'invalid_request', message, reason: null, permission_id: null };
}

function parse(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}
