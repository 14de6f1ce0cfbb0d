import type { Countersign } from '../countersign.ts';
import type { Limits } from '../guard/act.ts';
import { type AiCallOptions, approvalRequestsOf } from './ai-sdk-messages.ts';
import { makeGuardLookup, makeToolGuard, notGuardable } from './guards.ts';
import type { ToolOptions, ToolRules } from './options.ts';
import { override } from './override.ts';
import type { Refusal, ToolCall, ToolGuard } from './tool-guard.ts';

export { type AiCallOptions, type AiMessage, responseMessagesOf } from './ai-sdk-messages.ts';
export { type ApprovalMessage, answerApprovals } from './answer-approvals.ts';
export type { Granted, ToolCallOptions, ToolOptions, ToolRules } from './options.ts';
export type { Refusal } from './tool-guard.ts';

/** A tool of the AI SDK, version 6 or 7. */
export interface AiTool {
  execute?: ((input: never, options: never) => unknown) | undefined;
  needsApproval?: unknown;
}

/**
 * The error of a call that did not run. The AI SDK gives its text to the model; `cause` is the
 * `GuardError`.
 */
export class ToolNotRun extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal, options: ErrorOptions) {
    super(JSON.stringify(refusal), options);
    this.refusal = refusal;
  }

  /** Without the name of the class, so that the model is given JSON in every version. */
  override toString(): string {
    return this.message;
  }
}

/**
 * Returns the tool with its execution guarded: it runs only after its call was approved, once, with
 * the approved input.
 *
 * In suspend mode a call that people have to decide ends the run with a `tool-approval-request`.
 * `answerApprovals` makes the message that resumes it. Whatever the messages say, the tool runs
 * only if Countersign approved the call.
 * @throws TypeError for a tool without `execute`
 */
export function guardTool<T extends AiTool>(
  countersign: Countersign,
  tool: T,
  options: ToolOptions<AiCallOptions>,
): T {
  return wrapTool('The tool', tool, makeToolGuard(countersign, options));
}

/**
 * Returns the tools with their executions guarded by the rules, by default all of them.
 * @throws TypeError for a tool without `execute` that is not allowed
 */
export function wrapTools<Tools extends Record<string, AiTool>>(
  tools: Tools,
  rules: ToolRules<AiCallOptions> = {},
): Tools {
  const makeToolGuard = makeGuardLookup(rules);
  const wrapped = Object.entries(tools).map(([name, tool]) => {
    const guard = makeToolGuard(name);
    if (!guard) return [name, tool];
    return [name, wrapTool(name, tool, guard)];
  });
  return Object.fromEntries(wrapped);
}

function wrapTool<T extends AiTool>(name: string, tool: T, guard: ToolGuard<AiCallOptions>): T {
  if (typeof tool.execute !== 'function') throw notGuardable(name);
  const execute = tool.execute.bind(tool) as (input: unknown, options: unknown) => unknown;

  const run = async (input: unknown, options: AiCallOptions) => {
    try {
      const act = async (copy: unknown, granted: Limits) =>
        lastOf(await execute(copy, { ...options, granted }));
      return await guard.run(input, callOf(options), act);
    } catch (error) {
      throw new ToolNotRun(guard.refuse(error), { cause: error });
    }
  };

  const needsApproval = async (input: unknown, options: AiCallOptions) => {
    // When a run is resumed, version 6 takes a call that needs no approval for denied.
    if (isAnswered(options)) return true;
    // Asked also where the tool has a rule of its own: otherwise people would be asked only after
    // the run went on.
    const waits = await guard.needsDecision(input, callOf(options));
    const own = tool.needsApproval;
    if (typeof own !== 'function') return waits || Boolean(own);
    return waits || Boolean(await own(input, options));
  };

  return override(tool, { execute: run, ...(guard.isSuspending && { needsApproval }) });
}

function isAnswered({ messages, toolCallId }: AiCallOptions): boolean {
  return approvalRequestsOf(messages).some(
    (request) => request.toolCallId === toolCallId && request.isAnswered,
  );
}

function callOf(options: AiCallOptions): ToolCall<AiCallOptions> {
  return { id: options.toolCallId, context: options, signal: options.abortSignal };
}

/**
 * Returns the result of a tool. If the tool yields preliminary results, the last one is its result.
 */
async function lastOf(output: unknown): Promise<unknown> {
  if (typeof output !== 'object' || output === null || !(Symbol.asyncIterator in output))
    return output;
  let last: unknown;
  for await (const part of output as AsyncIterable<unknown>) last = part;
  return last;
}
