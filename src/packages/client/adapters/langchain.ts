import { ToolMessage } from '@langchain/core/messages';
import { ToolInputParsingException } from '@langchain/core/tools';
import { interopSafeParseAsync, isInteropZodSchema } from '@langchain/core/utils/types';
import { interrupt, isGraphInterrupt } from '@langchain/langgraph';
import type { Countersign } from '../countersign.ts';
import type { Limits } from '../guard/act.ts';
import { PermissionPending } from '../guard/errors.ts';
import { makeGuardLookup, makeToolGuard, notGuardable } from './guards.ts';
import type { ToolOptions, ToolRules } from './options.ts';
import type { ToolGuard } from './tool-guard.ts';

export type { Granted, ToolCallOptions, ToolOptions, ToolRules } from './options.ts';
export type { Refusal } from './tool-guard.ts';

/** A tool of LangChain. One that has no function `invoke` runs with the model's provider. */
export interface LangChainTool {
  name?: unknown;
  schema?: unknown;
  invoke?: unknown;
}

/** The configuration with which LangChain calls a tool. */
export interface LangChainConfig {
  configurable?: Record<string, unknown>;
  signal?: AbortSignal;
  context?: unknown;
  metadata?: Record<string, unknown>;
}

/** The value of the interrupt for a call that waits for a decision. */
export interface CountersignInterrupt {
  type: 'countersign';
  tool: string;
  input: unknown;
  permission_id: string;
  external_id: string;
  expires_at: string;
}

/**
 * Returns the tool with its execution guarded: it runs only after its call was approved, once, with
 * the approved input.
 *
 * A call that still waits for people interrupts the graph: in suspend mode at once, otherwise when
 * `wait` is over. Any `Command({ resume })` goes on: its value is not read, and the graph is
 * interrupted again as long as they have not decided.
 * @throws TypeError for a tool that the model's provider runs
 */
export function guardTool<T extends LangChainTool>(
  countersign: Countersign,
  tool: T,
  options: ToolOptions<LangChainConfig>,
): T {
  return wrapTool(tool, makeToolGuard(countersign, options, { run: threadOf }));
}

/**
 * Returns the tools with their executions guarded by the rules, by default all of them.
 * @throws TypeError for a tool that the model's provider runs and that is not allowed
 */
export function wrapTools<T extends LangChainTool>(
  tools: readonly T[],
  rules: ToolRules<LangChainConfig> = {},
): T[] {
  const makeToolGuard = makeGuardLookup({ run: threadOf, ...rules });
  return tools.map((tool) => {
    const guard = makeToolGuard(String(tool.name));
    if (!guard) return tool;
    return wrapTool(tool, guard);
  });
}

function threadOf({ configurable }: LangChainConfig): string | undefined {
  const thread = configurable?.thread_id;
  if (thread === undefined) return undefined;
  return String(thread);
}

function wrapTool<T extends LangChainTool>(tool: T, guard: ToolGuard<LangChainConfig>): T {
  const name = String(tool.name);
  if (typeof tool.invoke !== 'function') throw notGuardable(name);
  const runTool: (input: unknown, config?: object) => Promise<unknown> = tool.invoke.bind(tool);

  const invoke = async (input: unknown, config: LangChainConfig = {}) => {
    const toolCall = isToolCall(input) ? input : undefined;
    const args = toolCall ? toolCall.args : input;
    await checkArguments(tool, args);
    const call = { id: toolCall?.id, context: config, signal: config.signal };
    const act = (copy: unknown, granted: Limits) =>
      runTool(toolCall ? { ...toolCall, args: copy } : copy, { ...config, granted });
    try {
      return await runOrInterrupt(name, guard, () => guard.run(args, call, act));
    } catch (error) {
      if (!toolCall) throw error;
      const content = JSON.stringify(guard.refuse(error));
      return new ToolMessage({ content, name, tool_call_id: toolCall.id ?? '', status: 'error' });
    }
  };

  return Object.create(tool, { invoke: { value: invoke }, call: { value: invoke } });
}

/** Interrupts the graph while the call waits. Each resumption looks at the decision again. */
async function runOrInterrupt<Output>(
  tool: string,
  guard: ToolGuard<LangChainConfig>,
  run: () => Promise<Output>,
): Promise<Output> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof PermissionPending) || !guard.isRefusal(error)) throw error;
      const { input, permissionId, externalId, expiresAt } = error.call;
      const value: CountersignInterrupt = {
        type: 'countersign',
        tool,
        input,
        permission_id: permissionId,
        external_id: externalId,
        expires_at: expiresAt,
      };
      try {
        interrupt(value);
      } catch (failure) {
        if (isGraphInterrupt(failure)) throw failure;
        // Outside a graph, or in one without a checkpointer, nothing can be interrupted.
        throw error;
      }
    }
  }
}

/**
 * Refuses arguments that do not match the tool's schema, before a person is asked to approve them.
 */
async function checkArguments({ schema }: LangChainTool, args: unknown): Promise<void> {
  if (!isInteropZodSchema(schema)) return;
  const { success, error } = await interopSafeParseAsync(schema, args);
  if (success) return;
  const message = `Received tool input did not match expected schema\n\n${error}`;
  throw new ToolInputParsingException(message, JSON.stringify(args));
}

function isToolCall(input: unknown): input is { id?: string; args: unknown } {
  if (typeof input !== 'object' || input === null || !('type' in input)) return false;
  return input.type === 'tool_call';
}
