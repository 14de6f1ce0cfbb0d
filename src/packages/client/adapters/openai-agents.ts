import { type Schema, Validator } from '@cfworker/json-schema';
import {
  type FunctionTool,
  invokeFunctionTool,
  type RunContext,
  type RunState,
  type RunToolApprovalItem,
  type Tool,
} from '@openai/agents';
import type { Countersign } from '../countersign.ts';
import type { FieldError } from '../errors.ts';
import { parseExactJson } from '../exact-json.ts';
import type { Limits } from '../guard/act.ts';
import { makeGuardLookup, makeToolGuard, notGuardable } from './guards.ts';
import type { ToolOptions, ToolRules } from './options.ts';
import { override } from './override.ts';
import { refuseFinally, type ToolGuard } from './tool-guard.ts';

export type { Granted, ToolCallOptions, ToolOptions, ToolRules } from './options.ts';
export type { Refusal } from './tool-guard.ts';

// biome-ignore lint/suspicious/noExplicitAny: the context and the parameters are the tool's own
type AnyFunctionTool = FunctionTool<any, any, any>;
// biome-ignore lint/suspicious/noExplicitAny: the context is the application's own
type AnyRunContext = RunContext<any>;

type CallDetails = Parameters<AnyFunctionTool['invoke']>[2];

interface GuardedTool {
  guard: ToolGuard<AnyRunContext>;
  findFault: ArgumentCheck;
}

/** Every tool that was wrapped. */
const guardedTools = new WeakMap<object, GuardedTool>();

/** The ids of the calls that `approveDecided` found undecided, by the context of their run. */
const undecidedCalls = new WeakMap<AnyRunContext, Set<string>>();

/**
 * Returns the tool with its execution guarded: it runs only after its call was approved, once, with
 * the approved input.
 *
 * In suspend mode a call that people have to decide interrupts the run. `approveDecided` lets its
 * state go on when they have decided. Whatever the state says, the tool runs only if Countersign
 * approved the call.
 */
export function guardTool<T extends AnyFunctionTool>(
  countersign: Countersign,
  tool: T,
  options: ToolOptions<AnyRunContext>,
): T {
  return wrapTool(tool, makeToolGuard(countersign, options));
}

/**
 * Returns the tools with their executions guarded by the rules, by default all of them.
 * @throws TypeError for a tool that is no function tool and is not allowed
 */
export function wrapTools<T extends Tool>(
  tools: readonly T[],
  rules: ToolRules<AnyRunContext> = {},
): T[] {
  const makeToolGuard = makeGuardLookup(rules);
  return tools.map((tool) => {
    const guard = makeToolGuard(tool.name);
    if (!guard) return tool;
    if (tool.type !== 'function') throw notGuardable(tool.name);
    return wrapTool(tool as T & AnyFunctionTool, guard);
  });
}

/**
 * Lets a run go on that was interrupted: calls `state.approve` for each call that people have
 * decided, also one that they denied, because it is the tool that tells the model so. Returns
 * whether there was one. The calls that still wait, and the approvals that the application itself
 * asks for, stay interrupted.
 * @throws Unreachable, AccountStopped and ApiError when the service does not say what was decided
 */
// biome-ignore lint/suspicious/noExplicitAny: the context and the agent are the application's own
export async function approveDecided(state: RunState<any, any>): Promise<boolean> {
  const context: AnyRunContext = state._context;
  const waiting = new Set<string>();
  let isAny = false;
  for (const interruption of state.getInterruptions()) {
    const guarded = guardedToolOf(interruption);
    const id = callIdOf(interruption);
    if (!guarded?.guard.isSuspending || id === undefined) continue;
    const input = parse(interruption.arguments ?? '');
    // Nobody is asked for arguments that the tool refuses.
    if (guarded.findFault(input) || (await guarded.guard.isDecided(input, { id, context }))) {
      state.approve(interruption);
      isAny = true;
    } else {
      waiting.add(id);
    }
  }
  undecidedCalls.set(context, waiting);
  return isAny;
}

function guardedToolOf({ agent, name }: RunToolApprovalItem): GuardedTool | undefined {
  const tools: Tool[] = agent.tools;
  const tool = tools.find((tool) => tool.type === 'function' && tool.name === name);
  return tool && guardedTools.get(tool);
}

function callIdOf({ rawItem }: RunToolApprovalItem): string | undefined {
  if (rawItem.type !== 'function_call') return undefined;
  return rawItem.callId;
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
    if (fault) return JSON.stringify(refuseArguments(fault));
    try {
      return await guard.run(parsed, call, act);
    } catch (error) {
      return JSON.stringify(guard.refuse(error));
    }
  };

  // The guard asks also where the tool has a rule of its own: otherwise people would be asked only
  // after the run went on.
  const needsApproval = async (context: AnyRunContext, input: unknown, id?: string) => {
    // A state cannot be saved again once a call of it that needed approval needs none.
    if (id !== undefined && undecidedCalls.get(context)?.has(id)) return true;
    // `invoke` refuses such a call. Nobody is asked for it.
    if (findFault(input)) return false;
    const waits = await guard.needsDecision(input, { id, context });
    return waits || tool.needsApproval(context, input as never, id);
  };

  // The time limit is the tool's, not that of the wait for a decision.
  const guarded = override(tool, {
    invoke,
    timeoutMs: undefined,
    ...(guard.isSuspending && { needsApproval }),
  });
  guardedTools.set(guarded, { guard, findFault });
  return guarded;
}

/** Finds what is wrong with the arguments of a call; null if nothing is. */
type ArgumentCheck = (input: unknown) => FieldError | null;

function argumentCheck(schema: Schema): ArgumentCheck {
  const draft = String(schema.$schema).includes('draft-07') ? '7' : '2020-12';
  const validator = new Validator(schema, draft);
  return (input) => {
    if (input === undefined) {
      return {
        path: 'arguments',
        message: 'are not JSON, or have a number that a double would round or a name twice',
      };
    }
    // The last error is that of the innermost value.
    const fault = validator.validate(input).errors.at(-1);
    if (!fault) return null;
    const path = fault.instanceLocation.replace('#', 'arguments').replaceAll('/', '.');
    return { path, message: `breaks the schema of the tool: ${fault.error}` };
  };
}

function refuseArguments(fault: FieldError) {
  const detail = 'Call the tool again with valid arguments.';
  return refuseFinally({ code: 'invalid_request', detail, errors: [fault] });
}

function parse(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}
