import { spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CodingTool, TOOLS } from '../../src/packages/client/cli/hook/tool';
import { ROOT } from '../../src/tools/project';
import { type Call, eventAfterCommand, eventBefore } from '../support/hooks/events';
import { Client } from '../support/local/client';
import { prepareState, type Service, startService } from '../support/local/service';
import { createTenant, type Tenant } from '../support/local/tenant';

const MAIN = join(ROOT, 'src/packages/client/cli/main.ts');
const state = mkdtempSync(join(tmpdir(), 'countersign-hook-'));
const home = join(state, 'home');
const rules = join(state, 'rules.json');

let service: Service;
let tenant: Tenant;
let person: Client;
let stranger: Client;

beforeAll(async () => {
  mkdirSync(home);
  await prepareState(state);
  service = await startService(state);
  const other = await createTenant(service.origin, 'pro', 1);
  tenant = await createTenant(service.origin, 'pro', 1);
  stranger = new Client(service.origin, other.token);
  person = new Client(service.origin, tenant.token);
  await person.expect(201, 'POST', '/v1/policies', {
    name: 'Reads of the net',
    effect: 'approve',
    actions: ['web.read'],
    resources: ['*'],
  });
  writeFileSync(
    rules,
    JSON.stringify({
      wait: 30,
      tools: {
        Read: 'allow',
        'Bash(git status)': 'allow',
        'Bash(rm *)': 'deny',
        'Bash(git push *)': { action: 'git.push', resource: 'repo:{command}' },
        WebFetch: { action: 'web.read', resource: 'url:{url}' },
        Write: 'allow',
      },
    }),
  );
});

afterAll(async () => {
  await service?.stop();
  rmSync(state, { recursive: true, maxRetries: 5, retryDelay: 200 });
});

interface Answer {
  code: number | null;
  json: Record<string, unknown>;
  stderr: string;
  milliseconds: number;
}

interface Settings {
  url?: string;
  key?: string;
  timeout?: number;
  /** Whether the tool leaves the event unfinished. */
  isOpen?: boolean;
}

/** Runs the hook in a process of its own, as a tool does. */
async function run(
  tool: CodingTool,
  event: object | string,
  settings: Settings = {},
): Promise<Answer> {
  const { url = service.origin, key = tenant.agents[0]?.key ?? '', timeout = 60 } = settings;
  const args = [MAIN, 'hook', tool, '--rules', rules, '--timeout', String(timeout)];
  const { PATH = '' } = process.env;
  const started = performance.now();
  const child = spawn(process.execPath, args, {
    env: { PATH, HOME: home, COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: key },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data) => {
    stdout += data;
  });
  child.stderr.on('data', (data) => {
    stderr += data;
  });
  child.stdin.write(typeof event === 'string' ? event : JSON.stringify(event));
  if (!settings.isOpen) child.stdin.end();
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const milliseconds = performance.now() - started;
  return { code, json: stdout ? JSON.parse(stdout) : {}, stderr, milliseconds };
}

function reasonOf({ json }: Answer): string | undefined {
  const { hookSpecificOutput: output, ...cursor } = json as Record<string, Record<string, string>>;
  if (cursor.permission) {
    expect(cursor.permission).toBe('deny');
    return String(cursor.agent_message);
  }
  if (!output) return undefined;
  expect(output).toMatchObject({ hookEventName: 'PreToolUse', permissionDecision: 'deny' });
  return output.permissionDecisionReason;
}

type Asked = Record<string, unknown> & { id: string; outcome: { status: string; summary: string } };

async function waiting(): Promise<Asked> {
  for (;;) {
    const { body } = await person.get<{ data: Asked[] }>('/v1/permissions', { status: 'pending' });
    if (body.data[0]) return (await person.get<Asked>(`/v1/permissions/${body.data[0].id}`)).body;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function decide(decision: 'approve' | 'deny', body = {}): Promise<Asked> {
  const asked = await waiting();
  await person.expect(200, 'POST', `/v1/permissions/${asked.id}/${decision}`, body);
  return asked;
}

const read = async (id: string) => (await person.get<Asked>(`/v1/permissions/${id}`)).body;
const shellOf = (tool: CodingTool) => (tool === 'cursor' ? 'Shell' : 'Bash');

let number = 0;
const callOf = (tool: CodingTool, command: string, session = `session ${tool}`): Call => ({
  session,
  callId: `call_${++number}`,
  tool: shellOf(tool),
  input: { command },
});

const UNTOLD = { status: 'unknown', summary: 'Codex does not tell how a command ended.' };

/** How the outcome of a command is reported that ends with 0, and with 3. */
const OUTCOMES: Record<CodingTool, [object, object]> = {
  'claude-code': [
    { status: 'succeeded' },
    { status: 'failed', summary: 'It ended with the exit code 3.' },
  ],
  codex: [UNTOLD, UNTOLD],
  cursor: [
    { status: 'succeeded' },
    { status: 'failed', summary: 'It ended with the exit code 3.' },
  ],
};

const APPROVED: Record<CodingTool, object> = {
  'claude-code': { hookSpecificOutput: { permissionDecision: 'allow' } },
  codex: {},
  cursor: { permission: 'allow' },
};

it.each(TOOLS)('%s: no opinion, a denial, and an approval with its outcome', async (tool) => {
  const allowed = await run(tool, eventBefore(tool, callOf(tool, 'git status')));
  expect([allowed.code, allowed.json]).toEqual([0, {}]);
  const denied = await run(tool, eventBefore(tool, callOf(tool, 'git status; rm -rf x')));
  expect(denied.code).toBe(0);
  expect(reasonOf(denied)).toBe(
    'The tool "Bash" was not run. The rules deny it. Do not try again or in another way, and tell your user.',
  );

  const call = callOf(tool, 'git push origin main');
  const [approved, asked] = await Promise.all([
    run(tool, eventBefore(tool, call)),
    decide('approve'),
  ]);
  expect(approved.json).toMatchObject(APPROVED[tool]);
  expect(Object.keys(approved.json).length).toBe(Object.keys(APPROVED[tool]).length);
  expect(asked).toMatchObject({
    action: 'git.push',
    resource: 'repo:git push origin main',
    input: { tool: 'Bash', input: call.input, cwd: '/home/ada/project' },
    preview: {
      title: 'Use the tool Bash',
      fields: [
        { label: 'Command', value: 'git push origin main', of: '/input/command' },
        { label: 'Folder', value: '/home/ada/project', of: '/cwd' },
        { label: 'Tool', value: 'Bash', of: '/tool' },
      ],
    },
  });
  expect((await stranger.get(`/v1/permissions/${asked.id}`)).status).toBe(404);
  expect(await read(asked.id)).toMatchObject({
    outcome: { status: 'awaited' },
    token: { status: 'used' },
  });
  const [succeeded, failed] = OUTCOMES[tool];
  await run(tool, eventAfterCommand(tool, call, 0));
  expect((await read(asked.id)).outcome).toMatchObject(succeeded);
  // A second event finds no call that runs.
  await run(tool, eventAfterCommand(tool, call, 1));
  expect((await read(asked.id)).outcome).toMatchObject(succeeded);

  // The same command in the session is a new act, and asks anew.
  const again = callOf(tool, 'git push origin main');
  const [, second] = await Promise.all([run(tool, eventBefore(tool, again)), decide('approve')]);
  expect(second.id).not.toBe(asked.id);
  await run(tool, eventAfterCommand(tool, again, 3));
  expect((await read(second.id)).outcome).toMatchObject(failed);
});

it('a retry finds its approval, two calls at once never share one, and a denial holds', async () => {
  const tool = 'claude-code';
  const before = (command: string, session?: string, timeout = 60) =>
    run(tool, eventBefore(tool, callOf(tool, command, session)), { timeout });
  const first = await before('git push origin a', undefined, 12);
  const asked = await waiting();
  expect(reasonOf(first)).toContain(`/console/permissions/${asked.id}`);
  expect(reasonOf(await before('git push origin a', undefined, 12))).toContain(asked.id);
  await decide('approve');
  expect((await before('git push origin a')).json).toMatchObject(APPROVED[tool]);

  const call = () => before('git push origin b');
  const both = Promise.all([call(), call()]);
  await decide('approve');
  await decide('deny');
  const answers = (await both).map(({ json }) => JSON.stringify(json).includes('"allow"'));
  expect(answers.sort()).toEqual([false, true]);

  const session = '../../../etc/passwd\0"';
  const [refused] = await Promise.all([
    before('git push origin c', session),
    decide('deny', { reason: 'Not on Fridays' }),
  ]);
  expect(reasonOf(refused)).toContain('Not on Fridays');
  expect(reasonOf(await before('git push origin c', session))).toContain('It was denied.');
  const [other] = await Promise.all([before('git push origin c', 'another'), decide('approve')]);
  expect(other.json).toMatchObject(APPROVED[tool]);
  const files = readdirSync(join(home, '.local/state/countersign/hooks'));
  expect(files.every((name) => /^[0-9a-f]{64}$/.test(name))).toBe(true);
  for (const name of files) {
    const text = readFileSync(join(home, '.local/state/countersign/hooks', name), 'utf8');
    expect(text).toMatch(/^perm_\w{26}$/);
  }
});

it('a policy approves, and a call that names a file which guards the agent asks', async () => {
  const fetchCall = {
    ...callOf('codex', ''),
    tool: 'WebFetch',
    input: { url: 'https://a.example' },
  };
  expect((await run('codex', eventBefore('codex', fetchCall))).json).toEqual({});

  const project = join(state, 'project');
  mkdirSync(project);
  symlinkSync(rules, join(project, 'link'));
  const write = (input: object) =>
    run(
      'claude-code',
      eventBefore('claude-code', {
        ...callOf('claude-code', ''),
        tool: 'Write',
        input,
        cwd: project,
      }),
      { timeout: 4 },
    );
  expect((await write({ file_path: join(project, 'a.ts'), content: rules.slice(1) })).json).toEqual(
    {},
  );
  const guards = [
    'link',
    '../rules.json',
    '.claude/settings.json',
    `${home}/.claude/settings.json`,
  ];
  for (const file_path of guards) {
    expect([file_path, reasonOf(await write({ file_path, content: '' }))]).toEqual([
      file_path,
      expect.stringContaining('A person has to decide first'),
    ]);
    await decide('deny');
  }
});

it('input over 16 KiB is denied, and so is what cannot be read', async () => {
  const tool = 'cursor';
  const large = await run(tool, eventBefore(tool, callOf(tool, `git push ${'a'.repeat(17_000)}`)));
  expect(reasonOf(large)).toContain('people can be shown at most 16384');
  const texts = ['', '[]', '{', '{"hook_event_name": "stop"}', '{"a": 1e999}', 'null'];
  for (const text of texts) {
    const answer = await run(tool, text);
    expect([text, answer.code, reasonOf(answer)]).toEqual([
      text,
      0,
      expect.stringContaining('was not run'),
    ]);
  }
  const event = JSON.stringify(eventBefore(tool, callOf(tool, 'git status')));
  const twice = event.replace('"tool_name"', '"tool_name":"Read","tool_name"');
  expect(reasonOf(await run(tool, twice))).toContain('cannot be read as it is written');
});

/** A service that does everything wrong. */
async function withService(
  handle: Parameters<typeof createServer>[1],
  test: (url: string) => Promise<void>,
): Promise<void> {
  const server: Server = createServer(handle as never);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await test(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

it.each(TOOLS)(
  '%s: a service that is dead, slow or talks nonsense is a denial in time',
  async (tool) => {
    const ask = async (url: string) => {
      const event = eventBefore(tool, callOf(tool, 'git push origin main'));
      const answer = await run(tool, event, { url, timeout: 8 });
      expect(answer.code).toBe(0);
      expect(reasonOf(answer)).toContain('was not run');
      expect(answer.milliseconds).toBeLessThan(8_000);
    };
    await ask('http://127.0.0.1:9');
    await withService(() => {}, ask);
    await withService((_, response) => response.writeHead(200).end('<html>'), ask);
    await withService((_, response) => response.writeHead(200).end('{}'), ask);
    await withService((_, response) => response.writeHead(200).write('{'), ask);
    await withService((request) => request.socket.destroy(), ask);
    await withService((_, response) => response.writeHead(503).end(), ask);
    // Without a key nobody can be asked; what asks nobody needs none.
    const event = eventBefore(tool, callOf(tool, 'git push'));
    expect(reasonOf(await run(tool, event, { key: '' }))).toContain('was not run');
    expect(
      (await run(tool, eventBefore(tool, callOf(tool, 'git status')), { key: '' })).json,
    ).toEqual({});
  },
);

it.each(TOOLS)('%s: an event that does not end is a denial in time', async (tool) => {
  const event = eventBefore(tool, callOf(tool, 'git status'));
  const answer = await run(tool, event, { timeout: 4, isOpen: true });
  expect([answer.code, reasonOf(answer)]).toEqual([0, expect.stringContaining('was not run')]);
  expect(answer.milliseconds).toBeLessThan(4_000);
});

it('a crash is exit code 2 with a text on stderr', async () => {
  const answer = await run('codex', '{}', { timeout: Number.NaN });
  expect([answer.code, answer.json]).toEqual([2, {}]);
  expect(answer.stderr).toContain('--timeout');
});
