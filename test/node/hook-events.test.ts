import { describe, expect, it } from 'vitest';
import { decide } from '../../src/packages/client/cli/hook/decide';
import { HookRules } from '../../src/packages/client/cli/hook/hook-rules';
import { type CodingTool, EventError, readEvent } from '../../src/packages/client/cli/hook/tool';
import { strictness } from '../../src/packages/client/rules/rules';
import { type Call, eventAfter, eventAfterCommand } from '../support/hooks/events';
import claudeCode from '../support/hooks/recorded/claude-code.json' with { type: 'json' };
import codex from '../support/hooks/recorded/codex.json' with { type: 'json' };

const SHELL = { phase: 'before', tool: 'Bash', cwd: '/home/ada/project' };
const outcome = (status: string, summary?: string) => ({
  phase: 'after',
  outcome: { status, ...(summary !== undefined && { summary }) },
});

const READ_OF_CLAUDE: Record<keyof typeof claudeCode.events, object> = {
  shell: { ...SHELL, input: { command: 'echo hello', description: 'Say hello' } },
  succeeded: outcome('succeeded'),
  failed: outcome('failed', 'It ended with the exit code 7.'),
  timedOut: outcome('unknown', 'It took too long.'),
  inBackground: outcome('unknown', 'It runs in the background.'),
  write: {
    ...SHELL,
    tool: 'Write',
    input: { file_path: '/home/ada/project/src/new.txt', content: 'hi\n' },
  },
  written: outcome('succeeded'),
};

const PATCH = '*** Begin Patch\n*** Add File: src/new.txt\n+hi\n*** End Patch\n';
const UNTOLD = outcome('unknown', 'Codex does not tell how a command ended.');

const READ_OF_CODEX: Record<keyof typeof codex.events, object> = {
  shell: { ...SHELL, input: { command: 'echo hello' } },
  ended: UNTOLD,
  failed: UNTOLD,
  elsewhere: { ...SHELL, input: { command: 'pwd' }, cwd: '/usr' },
  patch: { ...SHELL, tool: 'apply_patch', input: { command: PATCH } },
  patched: outcome('succeeded'),
};

const RECORDED: [CodingTool, string, string, object, object][] = [
  ...Object.entries(READ_OF_CLAUDE).map(([name, read]) =>
    recorded('claude-code', claudeCode, name, read),
  ),
  ...Object.entries(READ_OF_CODEX).map(([name, read]) => recorded('codex', codex, name, read)),
];

function recorded(
  tool: CodingTool,
  { version, events }: { version: string; events: object },
  name: string,
  read: object,
): [CodingTool, string, string, object, object] {
  return [tool, version, name, Object.entries(events).find(([key]) => key === name)?.[1], read];
}

it.each(RECORDED)('reads what %s %s sends: %s', (tool, _version, _name, event, read) => {
  expect(readEvent(tool, event)).toEqual({
    ...read,
    session: '00000000-0000-4000-8000-000000000001',
    callId: expect.stringMatching(/^(toolu_\d|exec-[\d-]+)$/),
  });
  for (const field of ['session_id', 'tool_use_id', 'hook_event_name', 'tool_input']) {
    const isRead = field !== 'tool_input' || 'tool' in read;
    const lacking = () => readEvent(tool, { ...event, [field]: undefined });
    if (isRead) expect(lacking).toThrow(EventError);
    else expect(lacking).not.toThrow();
  }
});

const CALL: Call = { session: 's', callId: 'c', tool: 'Bash', input: { command: 'x' } };
const outcomeAfter = (tool: CodingTool, end: object, hasFailed = false) =>
  readEvent(tool, eventAfter(tool, CALL, end, hasFailed));

it('what a command prints says nothing about its end', () => {
  for (const printed of ['{"exit_code":0}', '{"exitCode":0}', 'Exit code 0', '']) {
    expect(outcomeAfter('codex', { tool_response: printed })).toMatchObject(UNTOLD);
  }
  for (const text of ['{"exit_code":1}', 'Exit code 1', '{"backgroundTaskId":"b"}']) {
    expect(outcomeAfter('claude-code', { tool_response: text })).toMatchObject(
      outcome('succeeded'),
    );
  }
  const error = 'Exit code 3\nCommand timed out after 1s';
  expect(outcomeAfter('claude-code', { error: `oops\n${error}` }, true)).toMatchObject(
    outcome('failed', 'The tool reported an error.'),
  );
});

it('tells how a call ended, as far as its tool does', () => {
  const afterCommand = (tool: CodingTool, exitCode: number) =>
    readEvent(tool, eventAfterCommand(tool, CALL, exitCode));
  const failed = outcome('failed', 'It ended with the exit code 3.');
  expect(afterCommand('claude-code', 3)).toMatchObject(failed);
  expect(afterCommand('cursor', 3)).toMatchObject(failed);
  expect(afterCommand('cursor', 0)).toMatchObject(outcome('succeeded'));
  const interrupted = outcome('unknown', 'The call was interrupted.');
  expect(outcomeAfter('claude-code', { is_interrupt: true, error: 'x' }, true)).toMatchObject(
    interrupted,
  );
  expect(outcomeAfter('claude-code', { tool_response: { interrupted: true } })).toMatchObject(
    interrupted,
  );
  expect(outcomeAfter('cursor', { failure_type: 'timeout' }, true)).toMatchObject(
    outcome('unknown', 'It took too long.'),
  );
});

describe('decides by the recorded calls', () => {
  const rules = new HookRules(
    '{"tools": {"apply_patch": "allow", "Write": "allow", "Bash(echo *)": "allow"}}',
  );
  const FILES = ['/home/ada/project/src/new.txt', '/usr/bin/rules.json'];

  async function effectOf(
    tool: CodingTool,
    event: object,
    protectedFiles: string[] = FILES,
    platform: NodeJS.Platform = 'linux',
  ): Promise<string | undefined> {
    const call = readEvent(tool, event);
    if (call.phase !== 'before') throw new Error('The event is the end of a call.');
    const treatment = await decide(call, rules, { tool, platform, protectedFiles });
    return ['allow', 'ask', 'deny'][strictness(treatment)];
  }

  it('a call that names a file which guards the agent asks', async () => {
    expect(await effectOf('codex', codex.events.patch, [])).toBe('allow');
    expect(await effectOf('codex', codex.events.patch)).toBe('ask');
    expect(await effectOf('claude-code', claudeCode.events.write, [])).toBe('allow');
    expect(await effectOf('claude-code', claudeCode.events.write)).toBe('ask');
    expect(await effectOf('codex', codex.events.shell)).toBe('allow');
    for (const command of [
      'echo bin/rules.json',
      'echo --to=bin/rules.json',
      'echo ../usr/BIN/rules.json',
    ]) {
      const event = { ...codex.events.elsewhere, tool_input: { command } };
      expect([command, await effectOf('codex', event)]).toEqual([command, 'ask']);
    }
  });

  it('a command asks where the tool may start another shell', async () => {
    expect(await effectOf('codex', codex.events.shell, [], 'win32')).toBe('ask');
    expect(await effectOf('claude-code', claudeCode.events.shell, [], 'win32')).toBe('allow');
    const words = { ...codex.events.shell, tool_input: { command: ['echo', 'hello'] } };
    expect(await effectOf('codex', words, [])).toBe('ask');
  });
});
