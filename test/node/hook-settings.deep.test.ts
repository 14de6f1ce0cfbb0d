import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CodingTool } from '../../src/packages/client/cli/hook/tool';
import { ROOT } from '../../src/tools/project';

const MAIN = join(ROOT, 'src/packages/client/cli/main.ts');

let home: string;
let rules: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "countersign's hooks-"));
  rules = join(home, 'rules.json');
  writeFileSync(rules, '{"wait": "2m"}');
});

afterEach(() => rmSync(home, { recursive: true }));

const FILES: Record<CodingTool, string> = {
  'claude-code': '.claude/settings.json',
  codex: '.codex/hooks.json',
  cursor: '.cursor/hooks.json',
};

function run(...args: string[]) {
  const { PATH = '' } = process.env;
  return spawnSync(process.execPath, [MAIN, 'hook', ...args], {
    env: { PATH, HOME: home },
    encoding: 'utf8',
  });
}

function settingsOf(tool: CodingTool, text?: string): string {
  const file = join(home, FILES[tool]);
  if (text !== undefined) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return readFileSync(file, 'utf8');
}

const CURSOR = `{
\t// Ours.
\t"version": 1,
\t"hooks": {
\t\t"preToolUse": [
\t\t\t{ "command": "./audit.sh" } // keep
\t\t]
\t}
}
`;
const CLAUDE = `{
  "model": "opus",
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          {
            "type": "command",
            "command": "audit hook claude-code"
          }
        ]
      }
    ]
  },
  "cleanupPeriodDays": 1.50
}
`;
const FOREIGN: [CodingTool, string][] = [
  ['claude-code', CLAUDE],
  ['claude-code', '{}\n'],
  ['codex', CLAUDE],
  ['cursor', CURSOR],
];

it.each(FOREIGN)(
  '%s: install adds its hooks, also twice, and uninstall takes exactly these out',
  (tool, text) => {
    settingsOf(tool, text);
    const first = run('install', tool, '--rules', rules, '--yes');
    expect([first.status, first.stdout]).toEqual([0, expect.stringMatching(/^\+ .*--timeout/m)]);
    const installed = settingsOf(tool);
    for (const line of text.split('\n').filter((part) => /Ours|"command"|1\.50/.test(part))) {
      expect(installed).toContain(line.replace(/\s*\/\/ keep$/, '').trim());
    }
    expect(installed.includes('// keep')).toBe(text.includes('// keep'));
    expect(run('install', tool, '--rules', rules, '--yes').status).toBe(0);
    expect(settingsOf(tool).match(/rules\.json/g)).toEqual(installed.match(/rules\.json/g));
    expect(run('uninstall', tool, '--yes').status).toBe(0);
    expect(settingsOf(tool)).toBe(text);
  },
);

it('sets the options that fail closed, and a timeout beyond the wait', () => {
  for (const tool of ['claude-code', 'codex', 'cursor'])
    run('install', tool, '--rules', rules, '--yes');
  const [claude, codex, cursor] = (['claude-code', 'codex', 'cursor'] as const).map((tool) =>
    JSON.parse(settingsOf(tool)),
  );
  const handler = claude.hooks.PreToolUse[0].hooks[0];
  expect(handler).toMatchObject({ type: 'command', timeout: 135, onFailure: 'block' });
  expect(handler.args.slice(-5)).toEqual(['claude-code', '--rules', rules, '--timeout', '135']);
  expect(cursor).toMatchObject({
    version: 1,
    hooks: { preToolUse: [{ timeout: 135, failClosed: true }] },
  });
  const [{ hooks }] = codex.hooks.PreToolUse;
  // Whatever ends the hook, the command ends with 2 and says something.
  for (const command of [hooks[0].command, hooks[0].command.replace(MAIN, '/nowhere')]) {
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], {
      input: '{}',
      encoding: 'utf8',
    });
    if (command === hooks[0].command)
      expect([status, stdout]).toEqual([0, expect.stringContaining('deny')]);
    else
      expect([status, stderr]).toEqual([2, expect.stringContaining('Countersign gave no answer')]);
  }
});

it('writes nothing without agreement, for rules that are wrong, or over what it cannot parse', () => {
  settingsOf('claude-code', '{}\n');
  expect(run('install', 'claude-code', '--rules', rules)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('--yes'),
  });
  expect(settingsOf('claude-code')).toBe('{}\n');
  for (const text of ['{', '[]', '{"hooks": ', 'x']) {
    settingsOf('claude-code', text);
    expect([text, run('install', 'claude-code', '--rules', rules, '--yes').status]).toEqual([
      text,
      1,
    ]);
    expect(settingsOf('claude-code')).toBe(text);
  }
  writeFileSync(rules, '{"tools": {"Write(x)": "deny"}}');
  expect(run('install', 'claude-code', '--rules', rules, '--yes').status).toBe(2);
  expect(run('install', 'emacs', '--rules', rules, '--yes').status).toBe(2);
});
