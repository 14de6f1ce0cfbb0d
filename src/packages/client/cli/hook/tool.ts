import type { OutcomeReport } from '../../api.ts';
import { isObject, type Json, type JsonObject } from '../../json.ts';

/** The coding agents whose hooks are supported. */
export const TOOLS = ['claude-code', 'codex', 'cursor'] as const;

export type CodingTool = (typeof TOOLS)[number];

/** A tool call, as the hook before it describes it. */
export interface HookCall {
  phase: 'before';
  session: string;
  /** Names the call, also in the event after it. */
  callId: string;
  /** The name by which rules know the tool. */
  tool: string;
  input: JsonObject;
  cwd: string;
}

/** The end of a tool call. */
export interface HookEnd {
  phase: 'after';
  session: string;
  callId: string;
  outcome: OutcomeReport;
}

export type HookEvent = HookCall | HookEnd;

/** The name of the shell in rules: one rules file serves all tools. */
export const SHELL = 'Bash';

/** The hook cannot understand an event. */
export class EventError extends Error {}

/** The events of the tools by their names, in lower case. */
const BEFORE = 'pretooluse';
const AFTER = ['posttooluse', 'posttoolusefailure'];

/**
 * Reads a hook event.
 * @throws EventError when it is none, or lacks what a decision needs
 */
export function readEvent(tool: CodingTool, event: unknown): HookEvent {
  if (!isObject(event)) throw new EventError('The event is not a JSON object.');
  const name = textOf(event, 'hook_event_name').toLowerCase();
  const session = textOf(event, tool === 'cursor' ? 'conversation_id' : 'session_id');
  const callId = textOf(event, 'tool_use_id');
  if (AFTER.includes(name)) {
    return { phase: 'after', session, callId, outcome: outcomeOf(tool, event) };
  }
  if (name !== BEFORE) throw new EventError('The event is not the use of a tool.');
  const { tool_input: input } = event;
  if (!isObject(input)) throw new EventError('tool_input is not an object.');
  const toolName = textOf(event, 'tool_name');
  const ruleName = tool === 'cursor' && toolName === 'Shell' ? SHELL : toolName;
  return { phase: 'before', session, callId, tool: ruleName, input, cwd: folderOf(event) };
}

/** The answer that forbids a call, as the tool reads it. */
export function denialFor(tool: CodingTool, reason: string): JsonObject {
  if (tool === 'cursor') {
    return { permission: 'deny', user_message: reason, agent_message: reason };
  }
  return {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'deny',
      permissionDecisionReason: reason,
    },
  };
}

/** The answer that leaves a call to the tool's own checks. */
export const NO_OPINION: JsonObject = {};

/**
 * The answer for a call that was approved: the tool need not ask its user as well. Codex has no
 * such answer, and goes on with its own checks.
 */
export function approvalFor(tool: CodingTool, permissionId: string): JsonObject {
  if (tool === 'codex') return NO_OPINION;
  if (tool === 'cursor') return { permission: 'allow' };
  return {
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'allow',
      permissionDecisionReason: `Approved in Countersign: ${permissionId}`,
    },
  };
}

function textOf(event: JsonObject, field: string): string {
  const value = event[field];
  if (typeof value === 'string' && value !== '') return value;
  throw new EventError(`The event has no ${field}.`);
}

/** The working folder. Cursor leaves it out for tools that have none. */
function folderOf({ cwd, workspace_roots: roots }: JsonObject): string {
  if (typeof cwd === 'string' && cwd !== '') return cwd;
  const [root] = Array.isArray(roots) ? roots : [];
  if (typeof root === 'string' && root !== '') return root;
  throw new EventError('The event has no cwd.');
}

/** How a call ended. What it printed is not repeated: it may hold secrets. */
function outcomeOf(tool: CodingTool, event: JsonObject): OutcomeReport {
  const result = resultOf(tool, event.tool_response ?? event.tool_output ?? null);
  const error = typeof event.error === 'string' ? event.error : '';
  if (event.is_interrupt === true || result.interrupted === true) {
    return { status: 'unknown', summary: 'The call was interrupted.' };
  }
  if (event.failure_type === 'timeout' || TIMED_OUT.test(error)) {
    return { status: 'unknown', summary: 'It took too long.' };
  }
  if (isInBackground(event, result)) {
    return { status: 'unknown', summary: 'It runs in the background.' };
  }
  const exitCode = exitCodeOf(result, error);
  if (exitCode !== null && exitCode !== 0) {
    return { status: 'failed', summary: `It ended with the exit code ${exitCode}.` };
  }
  const isFailure = String(event.hook_event_name).toLowerCase() === 'posttoolusefailure';
  if (isFailure) return { status: 'failed', summary: 'The tool reported an error.' };
  // Codex sends the same event for a command that failed, with what it printed and no exit code.
  if (tool === 'codex' && event.tool_name === SHELL && exitCode === null) {
    return { status: 'unknown', summary: 'Codex does not tell how a command ended.' };
  }
  return { status: 'succeeded' };
}

/** The first lines of the error of Claude Code for a command that it ended. */
const TIMED_OUT = /^(?:Exit code \d+\n)?Command timed out after /;

/** Whether a command still runs. Claude Code also moves one there that takes long. */
function isInBackground({ tool_input: input }: JsonObject, result: JsonObject): boolean {
  const isAskedFor = isObject(input) && input.run_in_background === true;
  return isAskedFor || typeof result.backgroundTaskId === 'string';
}

/** The exit code of a command; null where the tool does not tell it. */
function exitCodeOf(result: JsonObject, error: string): number | null {
  const code = result.exit_code ?? result.exitCode;
  if (typeof code === 'number') return code;
  const [, told] = /^Exit code (\d+)(?:\n|$)/.exec(error) ?? [];
  return told === undefined ? null : Number(told);
}

/**
 * The result of a tool. Cursor writes it as JSON in a text; the text of another tool is what the
 * command printed, and says nothing about its end.
 */
function resultOf(tool: CodingTool, result: Json): JsonObject {
  if (isObject(result)) return result;
  if (typeof result !== 'string' || tool !== 'cursor') return {};
  try {
    const parsed: unknown = JSON.parse(result);
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}
