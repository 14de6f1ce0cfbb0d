import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROOT } from '../../src/tools/project';
import { copyProject } from '../support/local/project';
import { freePort } from '../support/local/service';

const PROBLEM = 'urn:countersign:problem:';

const folder = mkdtempSync(join(tmpdir(), 'countersign-guides-'));
let service: ChildProcess;

beforeAll(async () => {
  const state = copyProject(folder);
  const env = {
    ...process.env,
    PORT: String(await freePort()),
    CI: 'true',
    WRANGLER_SEND_METRICS: 'false',
  };
  service = spawn(process.execPath, [join(folder, 'src/tools/start.ts')], {
    cwd: folder,
    env,
    stdio: 'ignore',
  });
  const files = ['running.json', 'demo-account.json'].map((name) => join(state, name));
  for (const deadline = Date.now() + 240_000; !files.every(existsSync); ) {
    if (Date.now() > deadline || service.exitCode !== null)
      throw new Error('the service did not start');
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
});

afterAll(async () => {
  const ended = new Promise((resolve) => service.once('exit', resolve));
  service.kill('SIGTERM');
  await ended;
  rmSync(folder, { recursive: true, maxRetries: 5, retryDelay: 200 });
});

/**
 * Pastes every command of a guide into one shell, which stops at the first that fails. Without
 * `--norc` bash may take the socket that is its input for a connection from afar, and read the
 * settings of this machine.
 */
async function runGuide(name: string): Promise<string> {
  const guide = readFileSync(join(ROOT, `src/docs/guides/${name}.md`), 'utf8');
  const commands = [...guide.matchAll(/^( *)```sh\n([\s\S]*?)^ *```/gm)].map(
    ([, , text = '']) => text,
  );
  expect(commands.length).toBeGreaterThan(5);
  const { stdout, stderr } = await promisify(execFile)(
    'bash',
    ['--norc', '-euo', 'pipefail', '-c', commands.join('\n')],
    {
      cwd: folder,
      maxBuffer: 2 ** 24,
    },
  );
  expect(stderr).toBe('');
  return stdout;
}

/** The lines that a guide shows below its commands, as patterns. `…` stands for any text. */
function shownLines(name: string): RegExp[] {
  const guide = readFileSync(join(ROOT, `src/docs/guides/${name}.md`), 'utf8');
  const blocks = [...guide.matchAll(/^```sh\n[\s\S]*?^```\n\n```\n([\s\S]*?)\n```$/gm)];
  const lines = blocks.flatMap(([, text = '']) => text.split('\n'));
  return lines.map((line) => {
    const literal = line.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return new RegExp(`^${literal.replaceAll('…', '.*')}$`);
  });
}

/**
 * Expects that the output of a guide's commands has the lines which the guide shows, in their
 * order.
 */
function expectShownLines(name: string, output: string): void {
  const patterns = shownLines(name);
  expect(patterns.length).toBeGreaterThan(5);
  const lines = output.split('\n');
  for (const pattern of patterns) {
    const place = lines.findIndex((line) => pattern.test(line));
    if (place < 0)
      expect.fail(
        `the guide ${name} shows a line that is not in the rest of the output: ${pattern}`,
      );
    lines.splice(0, place + 1);
  }
}

it('every command of the guide API works, and shows what the guide says', async () => {
  const output = await runGuide('api');
  // The one problem is the guide's example of a misspelled field.
  expect(output.split(PROBLEM)).toHaveLength(2);
  expect(output).toContain(`${PROBLEM}invalid_request`);
  for (const line of ['pending', 'approved', 'mismatch', 'true'])
    expect(output.split('\n')).toContain(line);
});

it('every command of the guide policies works, and shows what the guide says', async () => {
  const output = await runGuide('policies');
  expect(output).not.toContain(PROBLEM);
  expect(output).toContain('"disagrees":[]');
  expectShownLines('policies', output);
});

it('every command of the guide people works, and shows what the guide says', async () => {
  const output = await runGuide('people');
  expect(output).not.toContain(PROBLEM);
  expectShownLines('people', output);
});

it('every command of the guide channels works, and shows what the guide says', async () => {
  const output = await runGuide('channels');
  expect(output).not.toContain(PROBLEM);
  expectShownLines('channels', output);
});

it('every command of the guide on incidents works, and shows what the guide says', async () => {
  const output = await runGuide('incidents');
  expect(output).not.toContain(PROBLEM);
  expectShownLines('incidents', output);
});

it('every command of the guide MCP works, and shows what the guide says', async () => {
  const output = await runGuide('mcp');
  expect(output).not.toContain(PROBLEM);
  expectShownLines('mcp', output);
});

it('every command of the guide on coding agents works, and shows what the guide says', async () => {
  expectShownLines('hooks', await runGuide('hooks'));
});
