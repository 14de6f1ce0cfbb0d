import type { CodingTool } from '../../../src/packages/client/cli/hook/tool.ts';

/** A tool call of a coding agent. */
export interface Call {
  session: string;
  callId: string;
  tool: string;
  input: object;
  cwd?: string;
}

/** The event before a tool call, with the fields that the tool's documentation lists. */
export function eventBefore(tool: CodingTool, call: Call): object {
  const { session, callId, input, cwd = '/home/ada/project' } = call;
  const shared = { tool_name: call.tool, tool_input: input, tool_use_id: callId, cwd };
  switch (tool) {
    case 'claude-code':
      return {
        session_id: session,
        transcript_path: '/home/ada/.claude/projects/project/transcript.jsonl',
        permission_mode: 'default',
        hook_event_name: 'PreToolUse',
        ...shared,
      };
    case 'codex':
      return {
        session_id: session,
        turn_id: '1',
        transcript_path: null,
        hook_event_name: 'PreToolUse',
        model: 'gpt-5.2-codex',
        permission_mode: 'default',
        ...shared,
      };
    case 'cursor':
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

/** The event after a tool call, with what the tool says about its end. */
export function eventAfter(tool: CodingTool, call: Call, end: object, hasFailed = false): object {
  const name = `${tool === 'cursor' ? 'p' : 'P'}ostToolUse${hasFailed ? 'Failure' : ''}`;
  return { ...eventBefore(tool, call), hook_event_name: name, ...end };
}
