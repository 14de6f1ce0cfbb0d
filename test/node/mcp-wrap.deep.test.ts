import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { ROOT } from '../../src/tools/project';
import { Client as HttpClient } from '../support/local/client';
import { prepareState, type Service, startService } from '../support/local/service';
import { createTenant, type Tenant } from '../support/local/tenant';

const state = mkdtempSync(join(tmpdir(), 'countersign-wrap-'));
const folder = mkdtempSync(join(tmpdir(), 'countersign-files-'));
const FILESYSTEM = [
  join(ROOT, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js'),
  folder,
];
const EVERYTHING = [
  join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'),
  'stdio',
];
const WRAP = [join(ROOT, 'src/packages/client/cli/main.ts'), 'mcp', 'wrap'];
const MODERN = [join(ROOT, 'test/support/mcp-server.ts')];

let service: Service;
let tenant: Tenant;
let person: HttpClient;
const clients: Client[] = [];

beforeAll(async () => {
  await prepareState(state);
  service = await startService(state);
  tenant = await createTenant(service.origin, 'pro', 1);
  person = new HttpClient(service.origin, tenant.token);
});

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

afterAll(async () => {
  await service?.stop();
  for (const path of [state, folder])
    rmSync(path, { recursive: true, maxRetries: 5, retryDelay: 200 });
});

function environment(url = service.origin): Record<string, string> {
  const { PATH = '' } = process.env;
  return { PATH, COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: tenant.agents[0]?.key ?? '' };
}

function wrapped(rules: object, server: string[]): string[] {
  const file = join(state, `rules-${crypto.randomUUID()}.json`);
  writeFileSync(file, JSON.stringify(rules));
  return [...WRAP, '--rules', file, '--', process.execPath, ...server];
}

/** Connects an MCP client to a server behind `mcp wrap`. */
async function connect(
  rules: object,
  server: string[],
  options: ClientOptions = {},
  env = environment(),
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, options);
  clients.push(client);
  const args = wrapped(rules, server);
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }),
  );
  return client;
}

type Result = { isError?: boolean; content: { text: string }[] };

async function call(
  client: Client,
  name: string,
  args: object,
  options = {},
): Promise<{ isError: boolean; text: string }> {
  const result = (await client.callTool(
    { name, arguments: args as never },
    options,
  )) as unknown as Result;
  return {
    isError: result.isError === true,
    text: result.content.map(({ text }) => text).join('\n'),
  };
}

type Waiting = { id: string; action: string; resource: string; input: unknown };

/** Waits until a request waits for a decision. */
async function waiting(): Promise<Waiting> {
  for (;;) {
    const { body } = await person.get<{ data: Waiting[] }>('/v1/permissions', {
      status: 'pending',
    });
    if (body.data[0]) return (await person.get<Waiting>(`/v1/permissions/${body.data[0].id}`)).body;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function decide(decision: 'approve' | 'deny', reason = ''): Promise<Waiting> {
  const request = await waiting();
  await person.expect(
    200,
    'POST',
    `/v1/permissions/${request.id}/${decision}`,
    reason ? { reason } : {},
  );
  return request;
}

const RULES = {
  default: 'deny',
  tools: {
    'read_*': 'allow',
    'list_*': 'allow',
    write_file: { action: 'file.write', resource: 'file:{path}' },
  },
};

it('guards the writes of the filesystem server, and lets its reads pass', async () => {
  const client = await connect(RULES, FILESYSTEM);
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('write_file');
  const path = join(folder, 'a.txt');
  const write = { path, content: 'hello' };

  // A person approves while the call waits.
  const messages: string[] = [];
  const onprogress = ({ message = '' }) => messages.push(message);
  const [written, asked] = await Promise.all([
    call(client, 'write_file', write, { onprogress }),
    decide('approve'),
  ]);
  expect(asked).toMatchObject({ action: 'file.write', resource: `file:${path}`, input: write });
  expect(written).toEqual({ isError: false, text: `Successfully wrote to ${path}` });
  expect(messages[0]).toBe(
    `Waits for a person to decide: ${service.origin}/console/permissions/${asked.id}`,
  );
  expect(await call(client, 'read_text_file', { path })).toMatchObject({
    isError: false,
    text: 'hello',
  });
  expect(await call(client, 'move_file', { source: path, destination: `${path}2` })).toMatchObject({
    isError: true,
  });

  // A person denies. The same call does not ask again.
  const other = { ...write, content: 'bye' };
  const [denied] = await Promise.all([
    call(client, 'write_file', other),
    decide('deny', 'Not this one'),
  ]);
  expect(denied.text).toMatch(/It was denied\.(.*\n){2}\{"decision_reason":"Not this one"\}$/);
  expect(await call(client, 'write_file', other)).toEqual(denied);
  expect(readFileSync(path, 'utf8')).toBe('hello');
});

it('answers a call that waits too long, and runs its repetition once after the approval, in another process too', async () => {
  const rules = { ...RULES, wait: 0 };
  const path = join(folder, 'b.txt');
  const write = { path, content: 'once' };
  const first = await connect(rules, FILESYSTEM);
  const pending = await call(first, 'write_file', write);
  const { id } = await decide('approve');
  expect(pending).toEqual({
    isError: true,
    text: expect.stringContaining(`${service.origin}/console/permissions/${id} `),
  });
  await first.close();
  const second = await connect(rules, FILESYSTEM);
  expect(existsSync(path)).toBe(false);
  expect(await call(second, 'write_file', write)).toMatchObject({ isError: false });
  rmSync(path);
  // What was approved has run: the next call asks anew.
  expect(await call(second, 'write_file', write)).toMatchObject({ isError: true });
  expect(existsSync(path)).toBe(false);
  expect((await decide('deny')).id).not.toBe(id);
});

it('lets a policy approve at once, hides the key from the server, and passes what the server asks its client', async () => {
  const policy = {
    name: 'Env',
    effect: 'approve',
    actions: ['tool.get-env', 'tool.trigger-*'],
    resources: ['tool:*'],
  };
  await person.expect(201, 'POST', '/v1/policies', policy);
  const client = await connect({}, EVERYTHING, { capabilities: { sampling: {} } });
  client.setRequestHandler('sampling/createMessage', async () => ({
    model: 'test',
    role: 'assistant',
    content: { type: 'text', text: 'a sample' },
  }));
  const { text, isError } = await call(client, 'get-env', {});
  expect(isError).toBe(false);
  expect(JSON.parse(text)).toHaveProperty('PATH');
  expect(text).not.toMatch(/COUNTERSIGN|csa_/);
  const sampled = await call(client, 'trigger-sampling-request', { prompt: 'x', maxTokens: 5 });
  expect(sampled.text).toContain('a sample');
});

it('guards a server of the revision 2026-07-28, which asks back within the approved call', async () => {
  const client = await connect({ tools: { erase: 'ask' } }, MODERN, {
    versionNegotiation: { mode: { pin: '2026-07-28' } },
    capabilities: { elicitation: { form: {} } },
  });
  client.setRequestHandler('elicitation/create', async () => ({
    action: 'accept',
    content: { sure: true },
  }));
  const [denied] = await Promise.all([call(client, 'erase', { name: 'b' }), decide('deny')]);
  expect(denied.isError).toBe(true);
  const [erased] = await Promise.all([call(client, 'erase', { name: 'a' }), decide('approve')]);
  expect(erased).toEqual({ isError: false, text: 'erased a: true' });
});

it('runs nothing while the service cannot be reached', async () => {
  const client = await connect(RULES, FILESYSTEM, {}, environment('http://127.0.0.1:9'));
  const path = join(folder, 'c.txt');
  expect(await call(client, 'write_file', { path, content: '' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('Countersign did not answer.'),
  });
  expect(existsSync(path)).toBe(false);
  expect(await call(client, 'list_directory', { path: folder })).toMatchObject({ isError: false });
});

/** Runs `mcp wrap` with these arguments, and returns how it ended. */
async function run(args: string[], env = environment(), signal?: NodeJS.Signals) {
  const child = spawn(process.execPath, [...WRAP, ...args], { env });
  const [output, errors]: string[][] = [[], []];
  child.stdout.on('data', (chunk) => output?.push(String(chunk)));
  child.stderr.on('data', (chunk) => errors?.push(String(chunk)));
  if (signal) child.stdout.once('data', () => child.kill(signal));
  else child.stdin.end();
  const [code] = await once(child, 'close');
  return { code, output: output?.join(''), errors: errors?.join('') };
}

const server = (code: string) => ['--', process.execPath, '-e', code];

it('ends as the server ends', async () => {
  expect(await run(server('console.log("{}"); process.exitCode = 7'))).toEqual({
    code: 7,
    output: '{}\n',
    errors: '',
  });
  expect(await run(server('process.kill(process.pid, "SIGKILL")'))).toMatchObject({ code: 137 });
  // The signal is passed on.
  const waits =
    'process.on("SIGTERM", () => process.exit(9)); console.log("{}"); setInterval(() => {}, 1000)';
  expect(await run(server(waits), environment(), 'SIGTERM')).toMatchObject({
    code: 9,
    output: '{}\n',
  });
  expect(await run(['--', '/no/such/command'])).toEqual({
    code: 127,
    output: '',
    errors: 'countersign: The server could not be started: spawn /no/such/command ENOENT\n',
  });
});

it.each<[string, string[], Record<string, string>, RegExp]>([
  ['no command', [], {}, /Name the command of the server/],
  ['an unknown option', ['--rule', 'a', '--', 'true'], {}, /Unknown option '--rule'/],
  ['no file of rules', ['--rules', '/no/rules', '--', 'true'], {}, /\/no\/rules: ENOENT/],
  ['a user token', ['--', 'true'], { COUNTERSIGN_API_KEY: 'csu_x' }, /the key of an agent/],
])('refuses to start with %s', async (_, args, env, message) => {
  const { code, output, errors } = await run(args, { ...environment(), ...env });
  expect([code, output]).toEqual([2, '']);
  expect(errors).toMatch(message);
  expect(errors).toMatch(/^countersign: [^\n]+\nSee: countersign mcp wrap --help\n$/);
});
