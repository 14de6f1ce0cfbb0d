import type { CodingTool } from '../../../src/packages/client/cli/hook/tool.ts';
import claudeCode from './recorded/claude-code.json' with { type: 'json' };
import codex from './recorded/codex.json' with { type: 'json' };

/** A tool call of a coding agent. */
export interface Call {
  session: string;
  callId: string;
  tool: string;
  input: object;
  cwd?: string;
}

/** The event before a tool call, with the fields that the tool sends. */
export function eventBefore(tool: CodingTool, call: Call): object {
  const { session, callId, input, cwd = '/home/ada/project' } = call;
  const shared = { tool_name: call.tool, tool_input: input, tool_use_id: callId, cwd };
  switch (tool) {
    case 'claude-code':
      return { ...claudeCode.events.shell, session_id: session, ...shared };
    case 'codex':
      return { ...codex.events.shell, session_id: session, ...shared };
    case 'cursor':
      // After its documentation: Cursor has no package that can be run.
      return {
        conversation_id: session,
        generation_id: 'gen-1',
        model: 'claude-opus-4-7',
        hook_event_name: 'preToolUse',
        cursor_version: '2.4.0',
        workspace_roots: [cwd],
        user_email: null,
        transcript_path: null,
        agent_message: 'Working',
        ...shared,
      };
  }
}

/** The event after a call, with what the tool tells about its end. */
export function eventAfter(tool: CodingTool, call: Call, end: object, hasFailed = false): object {
  const name = `${tool === 'cursor' ? 'p' : 'P'}ostToolUse${hasFailed ? 'Failure' : ''}`;
  return { ...eventBefore(tool, call), hook_event_name: name, ...end };
}

/** The event after a shell command that ended with an exit code. */
export function eventAfterCommand(tool: CodingTool, call: Call, exitCode: number): object {
  const hasFailed = exitCode !== 0;
  switch (tool) {
    case 'claude-code':
      return hasFailed
        ? eventAfter(tool, call, { error: `Exit code ${exitCode}\noops` }, true)
        : eventAfter(tool, call, { tool_response: claudeCode.events.succeeded.tool_response });
    case 'codex':
      return eventAfter(tool, call, { tool_response: codex.events.failed.tool_response });
    case 'cursor':
      return eventAfter(tool, call, { tool_output: JSON.stringify({ exitCode, output: '' }) });
  }
}
