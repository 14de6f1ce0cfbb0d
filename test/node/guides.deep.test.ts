import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PAYMENTS_KEY, PAYMENTS_PORT } from '../../src/tools/demo/payments';
import { ROOT } from '../../src/tools/project';
import { copyProject } from '../support/local/project';
import { freePort } from '../support/local/service';

const PROBLEM = 'urn:countersign:problem:';

const folder = mkdtempSync(join(tmpdir(), 'countersign-guides-'));
let service: ChildProcess;
/** How long the service took from its start until somebody could use it, in milliseconds. */
let startDuration = 0;

beforeAll(async () => {
  const started = Date.now();
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
  startDuration = Date.now() - started;
});

afterAll(async () => {
  const ended = new Promise((resolve) => service.once('exit', resolve));
  service.kill('SIGTERM');
  await ended;
  rmSync(folder, { recursive: true, maxRetries: 5, retryDelay: 200 });
});

/** The blocks of commands in a guide. */
function readCommands(name: string): string[] {
  return findCommands(readFileSync(join(ROOT, `src/docs/guides/${name}.md`), 'utf8'));
}

/** The commands in a text, and those that save the files which it says to save. */
function findCommands(text: string): string[] {
  const blocks = text.matchAll(/^ *```(sh|js)\n([\s\S]*?)^ *```/gm);
  return [...blocks].flatMap(({ 1: language, 2: block = '', index }) => {
    if (language === 'sh') return [block];
    const before = text.slice(0, index).trimEnd().split('\n\n').at(-1) ?? '';
    const [, file] = /\bSave this[\s\S]*? as `([\w.]+)`/.exec(before) ?? [];
    return file === undefined ? [] : [`cat > ${file} <<'END OF FILE'\n${block}END OF FILE`];
  });
}

/** Pastes every command of a guide into one shell, which stops at the first that fails. */
async function runGuide(name: string): Promise<string> {
  const commands = readCommands(name);
  expect(commands.length).toBeGreaterThan(5);
  return runCommands(commands);
}

/**
 * Without `--norc` bash may take the socket that is its input for a connection from afar, and read
 * the settings of this machine.
 */
async function runCommands(commands: string[]): Promise<string> {
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

it('the first session of the README goes as it says', async () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const session = readme.slice(readme.indexOf('## A first session')).split('\n## ')[0] ?? '';
  const commands = findCommands(session);
  expect(commands).toHaveLength(7);
  // The second use is refused. As in a terminal, the commands after it go on.
  const output = await runCommands(['exec 2>&1', 'set +e', ...commands]);
  for (const once of [
    '"granted_scope":{"max_recipients":10}',
    '"active":true',
    'The token has no use left. Ask for permission again. (409 token_not_active)',
  ])
    expect(output.split(once)).toHaveLength(2);
  const events = [...output.matchAll(/"event_type":"(\w+)"/g)].map(([, event]) => event);
  expect(events).toEqual(['request', 'approve', 'use']);
});

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

it('every command of the guide on series works, and shows what the guide says', async () => {
  const output = await runCommands(readCommands('series'));
  const asked = "{ requests: 20, expires_in: 7200, varies: [ 'max_amount' ] }";
  expect(output).toBe(`${asked}\nperson_required\n`);
});

it('every command of the guide MCP works, and shows what the guide says', async () => {
  const output = await runGuide('mcp');
  expect(output).not.toContain(PROBLEM);
  expectShownLines('mcp', output);
});

it('every command of the guide on coding agents works, and shows what the guide says', async () => {
  expectShownLines('hooks', await runGuide('hooks'));
});

it('every command of the guide on webhooks works, and its receiver gets what the guide says', async () => {
  const output = await runGuide('webhooks');
  expect(output).not.toContain(PROBLEM);
  const lines = output.split('\n').map((line) => line.trim());
  for (const line of ["[ [ 'webhook.test', 'succeeded', 1 ] ]", 'audit.created request'])
    expect(lines.filter((each) => each === line)).toHaveLength(1);
});

it('every command of the guide on guards works, and the act runs when it is approved', async () => {
  // npm writes notices to stderr.
  const output = await runCommands(['exec 2>&1', ...readCommands('guard')]);
  const lines = output.split('\n');
  expect(lines.filter((line) => line === 'Sent to ada@example.com: Hello')).toHaveLength(1);
});

it('the demo plays its scenes, and says what came of them', async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [join(folder, 'src/tools/demo.ts')],
    { cwd: folder },
  );
  expect(stderr).toBe('');
  for (const line of [
    'is approved, signed by both',
    'Its outcome, by its own word: unknown: The bank did not answer in time',
    'asks for 4: 3 are approved at once (3 vouchers, 119.7 EUR), the next one waits for a person',
    'asks for 4 more: 3 are approved at once, that of 900 EUR waits for a person',
    'It reads the balance: 200. It pays 250 EUR: 403, it has to be approved',
    'After the approval the same call is sent, once: 201',
    'because no rule of conn_',
    'The demo took',
  ])
    expect(stdout).toContain(line);
});

/** The stand-in for a payment service that `npm run payments` starts. */
interface Payments {
  port: number;
  /** The file with what it prints. */
  output: string;
  stop(): Promise<void>;
}

async function startPayments(): Promise<Payments> {
  const port = await freePort();
  const output = join(folder, 'payments.txt');
  const env = { ...process.env, PAYMENTS_PORT: String(port) };
  const child = spawn(process.execPath, [join(folder, 'src/tools/payments.ts')], {
    cwd: folder,
    env,
    stdio: ['ignore', openSync(output, 'w'), 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  for (const deadline = Date.now() + 60_000; !readFileSync(output, 'utf8').includes('Ctrl-C'); ) {
    if (Date.now() > deadline) throw new Error('the stand-in did not start');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const stop = async () => {
    child.kill();
    await ended;
  };
  return { port, output, stop };
}

describe('the guide on connections', () => {
  const NEXT = '-- next block --';
  /** What the commands of each block print, followed by the calls that had arrived by then. */
  let blocks: string[] = [];
  let duration = 0;

  beforeAll(async () => {
    const started = Date.now();
    const payments = await startPayments();
    try {
      const commands = readCommands('connections').map((text) => {
        const own = text.replace(`127.0.0.1:${PAYMENTS_PORT}`, `127.0.0.1:${payments.port}`);
        return `${own}cat ${payments.output}; echo '${NEXT}'`;
      });
      const again = (commands[4] ?? '').replaceAll('"amount": 250', '"amount": 251');
      blocks = (await runCommands([...commands, again])).split(`${NEXT}\n`);
    } finally {
      await payments.stop();
    }
    duration = startDuration + Date.now() - started;
  });

  /** The answers in the output of a block. */
  const answersOf = (block = '') =>
    [...block.matchAll(/^\{.*\}$/gm)].map(([line]) => JSON.parse(line));
  const callsOf = (block = '') => block.match(/^(GET|POST) .*$/gm) ?? [];

  it('names the key and the address of the stand-in', () => {
    const [, connection = ''] = readCommands('connections');
    expect(connection).toContain(`"secret": "${PAYMENTS_KEY}"`);
    expect(connection).toContain(`"base_url": "http://127.0.0.1:${PAYMENTS_PORT}"`);
    expect(blocks[0]).toContain(PAYMENTS_KEY);
  });

  it('lets the agent read at once and ask before it pays', () => {
    const [balance, payout] = answersOf(blocks[2]);
    expect(balance).toEqual({ available: 10_000, currency: 'EUR' });
    expect(payout).toMatchObject({ status: 403, code: 'permission_pending' });
    expect(callsOf(blocks[2])).toEqual(['GET /v1/balance → 200']);
  });

  it('sends nothing when the request is approved, but when the agent makes the call again', () => {
    expect(callsOf(blocks[3])).toEqual(['GET /v1/balance → 200']);
    const [payout, repeated] = answersOf(blocks[4]);
    expect(payout).toMatchObject({ to: 'supplier-17', amount: 250 });
    expect(repeated).toMatchObject({ status: 409, code: 'already_used' });
    expect(repeated.outcome.status).toBe('succeeded');
    expect(callsOf(blocks[4])).toEqual(['GET /v1/balance → 200', 'POST /v1/payouts → 201']);
  });

  it('has another amount asked for again', () => {
    const codes = answersOf(blocks[5]).map(({ code }) => code);
    expect(codes).toEqual(['permission_pending', 'permission_pending']);
    expect(callsOf(blocks[5])).toEqual(callsOf(blocks[4]));
  });

  it('takes less than five minutes from the start of the service', () => {
    expect(duration).toBeLessThan(300_000);
  });
});
