import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildClient } from '../../src/tools/client/build.ts';
import { eventAfter, eventBefore } from '../support/hooks/events.ts';
import { median, type Report } from './report.ts';

const MAX_MILLISECONDS = 150;
const RUNS = 41;

/**
 * Measures how long a hook takes that asks nobody, from the start of its process to its end, with
 * the package as users install it.
 */
export async function measureHook(report: Report): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-hook-'));
  try {
    await buildClient(folder);
    const rules = join(folder, 'rules.json');
    writeFileSync(
      rules,
      '{"tools": {"Read": "allow", "Bash(git status)": "allow", "Bash(rm *)": "deny"}}',
    );
    const call = { session: 's', callId: 'c' };
    const shell = (command: string) =>
      eventBefore('claude-code', { ...call, tool: 'Bash', input: { command } });
    const read = { ...call, tool: 'Read', input: { file_path: '/a' } };
    const events = {
      'a tool that is allowed': eventBefore('claude-code', read),
      'a command that is allowed': shell('git status'),
      'a command that is denied': shell('git status; rm x'),
      'after a call': eventAfter('claude-code', read, {}),
    };
    const args = [join(folder, 'cli/main.js'), 'hook', 'claude-code', '--rules', rules];
    report.heading(`Hooks that ask nobody, median of ${RUNS} processes`);
    for (const [name, event] of Object.entries(events)) {
      const times = Array.from({ length: RUNS }, () => timeOf(args, JSON.stringify(event)));
      report.atMost(MAX_MILLISECONDS, Math.round(median(times)), `${name}, ms`);
    }
    const bare = Array.from({ length: RUNS }, () => timeOf(['-e', '0'], ''));
    report.note(`Node alone: ${Math.round(median(bare))} ms`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function timeOf(args: string[], input: string): number {
  const started = performance.now();
  const { status } = spawnSync(process.execPath, args, { input, env: { HOME: '/nowhere' } });
  if (status !== 0) throw new Error(`the hook ended with ${status}`);
  return performance.now() - started;
}
