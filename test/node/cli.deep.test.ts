import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildClient } from '../../src/tools/client/build.ts';
import { ROOT } from '../../src/tools/project.ts';
import { Client } from '../support/local/client';
import { sayUntested } from '../support/local/say-untested';
import { prepareState, type Service, startService, sweep } from '../support/local/service';
import { createTenant, type Tenant } from '../support/local/tenant';

const folder = mkdtempSync(join(tmpdir(), 'countersign-package-'));
const program = join(folder, 'project/node_modules/.bin/countersign');
const SCRIPT = '/usr/bin/script';
if (!existsSync(SCRIPT))
  sayUntested('the inbox on a terminal: script of util-linux is not installed');

const isInstalled = (shell: string) => !spawnSync(shell, ['--version']).error;
for (const shell of ['zsh', 'fish']) {
  if (!isInstalled(shell)) sayUntested(`the completion in ${shell}: it is not installed`);
}

/** Every Node that is installed, by its version: that of the tests, and that of the system. */
const nodes = new Map(
  [process.execPath, ...(process.env.PATH ?? '').split(delimiter).map((path) => join(path, 'node'))]
    .filter(existsSync)
    .map((path) => [execFileSync(path, ['--version'], { encoding: 'utf8' }).trim(), path] as const),
);
if (nodes.size === 1)
  sayUntested('the command line in more than one version of Node: no other is installed');

let service: Service;
let tenant: Tenant;
let user: Client;
let proxy: Server;
/** Changes an answer of the service on its way through the proxy. */
let tamper: (path: string, body: string) => string = (_, body) => body;

beforeAll(async () => {
  await buildClient(join(folder, 'package'));
  const pack = ['pack', join(folder, 'package'), '--pack-destination', folder, '--json'];
  const [{ filename, size }] = JSON.parse(execFileSync('npm', pack, { encoding: 'utf8' }));
  console.log(`the package has ${size} bytes`);
  mkdirSync(join(folder, 'project'));
  writeFileSync(join(folder, 'project/package.json'), '{"private": true}');
  const install = ['install', '--offline', '--no-audit', '--no-fund', join(folder, filename)];
  execFileSync('npm', install, { cwd: join(folder, 'project') });
  await prepareState(join(folder, 'state'));
  service = await startService(join(folder, 'state'));
  tenant = await createTenant(service.origin, 'pro', 1);
  user = new Client(service.origin, tenant.token);
  proxy = createServer(async (request, response) => {
    const path = request.url ?? '';
    const answer = await fetch(service.origin + path, {
      headers: { Authorization: request.headers.authorization ?? '' },
    });
    response.writeHead(answer.status, { 'Content-Type': answer.headers.get('Content-Type') ?? '' });
    response.end(tamper(path, await answer.text()));
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  proxy?.close();
  await service?.stop();
  rmSync(folder, { recursive: true, maxRetries: 5, retryDelay: 200 });
});

interface Run {
  child: ChildProcess;
  output: { stdout: string; stderr: string };
  ended: Promise<number | NodeJS.Signals>;
}

interface Setting {
  key?: string;
  url?: string;
  node?: string;
  stdin?: string;
}

/** Starts the installed command. */
function start(
  argv: string[],
  { key = tenant.token, url = service.origin, node = process.execPath, stdin }: Setting = {},
): Run {
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    COUNTERSIGN_URL: url,
    COUNTERSIGN_API_KEY: key,
  };
  const child = spawn(node, [program, ...argv], { cwd: folder, env, stdio: 'pipe' });
  child.stdin.end(stdin);
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (chunk: Buffer) => (output[name] += chunk));
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 0));
  });
  return { child, output, ended };
}

async function run(argv: string[], setting: Setting = {}) {
  const { ended, output } = start(argv, setting);
  return { code: await ended, ...output };
}

async function until<T>(
  what: string,
  find: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; ) {
    const found = await find();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`waited in vain: ${what}`);
}

/** The request that a guarded command waits for, from the link that it prints. */
const asked = ({ output }: Run) =>
  until('the link', () => /\/console\/permissions\/(perm_\w+)/.exec(output.stderr)?.[1]);

const ASK = ['run', '--action', 'site.deploy', '--resource', 'site:www'];
const agent = () => ({ key: tenant.agents[0]?.key ?? '' });

/** Runs a guarded command, and decides its request. */
async function decided(
  argv: string[],
  decision: 'approve' | 'deny',
  body: object = {},
  setting: Setting = {},
) {
  const running = start(argv, { ...agent(), ...setting });
  const id = await asked(running);
  await user.expect(200, 'POST', `/v1/permissions/${id}/${decision}`, body);
  return { code: await running.ended, ...running.output, id };
}

describe('the installed package', () => {
  it.each([...nodes])('starts with Node %s', async (_, node) => {
    const { code, stdout } = await run(['--help'], { node });
    expect([code, stdout.includes('countersign <command>')]).toEqual([0, true]);
    const shown = await run(['whoami'], { node });
    expect([shown.code, JSON.parse(shown.stdout).account.id]).toEqual([0, tenant.id]);
    const { stdout: list } = await run(['agents', 'list'], { node });
    expect(JSON.parse(list).id).toBe(tenant.agents[0]?.id);
  });

  it('has one command, which the shell can run, and no types of it', () => {
    expect(readFileSync(program, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
    expect(execFileSync(program, ['--version'], { encoding: 'utf8' })).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(existsSync(join(folder, 'package/cli/cli.d.ts'))).toBe(false);
  });

  it('completes commands and options in bash', async () => {
    const { stdout: script } = await run(['completion', 'bash']);
    const complete = (...words: string[]) => {
      const state = `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _countersign; echo "\${COMPREPLY[*]}"`;
      return execFileSync('bash', ['-c', `${script}\n${state}`], { encoding: 'utf8' }).trim();
    };
    expect(complete('countersign', 'a')).toBe('approve agents audit api');
    expect(complete('countersign', 'audit', 'v')).toBe('verify');
    expect(complete('countersign', 'audit', 'verify', '--k')).toBe('--key');
    expect(complete('countersign', 'deny', '--re')).toBe('--reason');
  });

  it.skipIf(!isInstalled('zsh'))(
    'completes commands and options in zsh, and files after a command',
    async () => {
      const { stdout: script } = await run(['completion', 'zsh']);
      const shell =
        'compdef() { :; }; compadd() { shift; print -r -- $@ }; _files() { print -r -- FILES }';
      const complete = (...words: string[]) => {
        const state = `words=(${words.join(' ')} ''); CURRENT=${words.length + 1}; _countersign`;
        return execFileSync('zsh', ['-f', '-c', `${shell}\n${script}\n${state}`], {
          encoding: 'utf8',
        }).trim();
      };
      expect(complete('countersign').split(' ')).toEqual(
        expect.arrayContaining(['--help', 'approve', 'audit', 'mcp']),
      );
      expect(complete('countersign', 'audit')).toBe('--help list tail export verify');
      expect(complete('countersign', 'audit', 'verify')).toBe('--key --url --json --help\nFILES');
    },
  );

  it.skipIf(!isInstalled('fish'))(
    'completes commands and options in fish, and files after a command',
    async () => {
      const { stdout: script } = await run(['completion', 'fish']);
      const file = join(folder, 'completion.fish');
      writeFileSync(file, script);
      const complete = (line: string) => {
        const command = `source ${file}; complete -C '${line}'`;
        return execFileSync('fish', ['--no-config', '-c', command], {
          cwd: folder,
          encoding: 'utf8',
        })
          .trim()
          .split('\n');
      };
      expect(complete('countersign a')).toEqual(['agents', 'api', 'approve', 'audit']);
      expect(complete('countersign audit ')).toEqual([
        'export',
        'list',
        'tail',
        'verify',
        '--help',
      ]);
      expect(complete('countersign audit verify --k')).toEqual(['--key']);
      expect(complete('countersign run c')).toContain('completion.fish');
    },
  );
});

describe('run', () => {
  it('passes arguments, stdin, stdout, stderr, the limits and the exit code', async () => {
    const report = join(folder, 'report.json');
    const script =
      'cat; echo "$1" >&2; printf "%s%s" "$COUNTERSIGN_API_KEY" "$COUNTERSIGN_GRANTED_SCOPE"; exit 7';
    const argv = [
      ...ASK,
      '--scope',
      '{"hosts":["a","b"]}',
      '--report',
      report,
      '--',
      'sh',
      '-c',
      script,
      'sh',
      '--help "x',
    ];
    const { code, stdout, stderr, id } = await decided(argv, 'approve', {}, { stdin: 'typed ' });
    expect([code, stdout]).toEqual([7, 'typed {"hosts":["a","b"]}']);
    expect(stderr).toContain('--help "x\n');
    expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({
      outcome: 'ran',
      permission_id: id,
      exit_code: 7,
    });
    const { body } = await user.get<{ input: object; outcome: object }>(`/v1/permissions/${id}`);
    const summary = 'The command ended with the exit code 7.';
    expect(body.outcome).toMatchObject({ status: 'failed', summary });
    expect(body.input).toEqual({
      ...{ command: 'sh', args: ['-c', script, 'sh', '--help "x'], cwd: folder, not_bound: [] },
      files: [{ path: expect.stringMatching(/\/sh$/), digest: expect.stringMatching(/^sha-256:/) }],
    });
  });

  it('reports what succeeded, and nothing when it is killed while the command runs', async () => {
    const outcomeOf = async (id: string) =>
      (await user.get<{ outcome: { status: string } }>(`/v1/permissions/${id}`)).body.outcome
        .status;
    const done = await decided([...ASK, '--', 'true'], 'approve');
    expect([done.code, await outcomeOf(done.id)]).toEqual([0, 'succeeded']);
    const running = start([...ASK, '--', 'sh', '-c', 'echo ready; sleep 2'], agent());
    const id = await asked(running);
    await user.expect(200, 'POST', `/v1/permissions/${id}/approve`, {});
    while (!running.output.stdout.includes('ready'))
      await new Promise((resolve) => setTimeout(resolve, 20));
    running.child.kill('SIGKILL');
    await running.ended;
    expect(await outcomeOf(id)).toBe('awaited');
    const { code, stdout } = await run(['outcome', id, 'unknown'], agent());
    expect([code, JSON.parse(stdout).outcome.status]).toEqual([0, 'unknown']);
  });

  it('does not run a program or a file that changed while the request waited', async () => {
    const [program, settings, ran] = ['deploy.sh', 'deploy.conf', 'ran.txt'].map((name) =>
      join(folder, name),
    );
    if (!program || !settings || !ran) throw new Error('unreachable');
    const write = () => {
      writeFileSync(program, '#!/bin/sh\ncat "$2" >> ran.txt\n', { mode: 0o755 });
      writeFileSync(settings, 'approved\n');
    };
    const argv = [...ASK, '--', './deploy.sh', '--settings=deploy.conf', 'deploy.conf', '.'];
    for (const change of [
      () => writeFileSync(program, '#!/bin/sh\necho evil >> ran.txt\n'),
      () => writeFileSync(settings, 'evil\n'),
      () => rmSync(settings),
      () => {},
    ]) {
      write();
      const running = start(argv, agent());
      const id = await asked(running);
      change();
      await user.expect(200, 'POST', `/v1/permissions/${id}/approve`, {});
      const code = await running.ended;
      const { body } = await user.get<{ input: object; token: { status: string } }>(
        `/v1/permissions/${id}`,
      );
      expect([body.token.status, body.input]).toMatchObject([
        'used',
        {
          files: [{ path: './deploy.sh' }, { path: 'deploy.conf' }],
          not_bound: ['.: it is not a regular file'],
        },
      ]);
      const isChanged = code !== 0;
      expect([
        code,
        /not run: .* has changed .* The approval is used up/.test(running.output.stderr),
      ]).toEqual([isChanged ? 1 : 0, isChanged]);
    }
    expect(readFileSync(ran, 'utf8')).toBe('approved\n');
  });

  it.runIf(existsSync('/proc/self/environ')).each([...nodes])(
    'hides the key from the command, and from what it sees of its parents, with Node %s',
    async (_, node) => {
      // Up to the process of the test, which is not of this program.
      const script = `p=$$; while [ "$p" -gt 1 ] && [ "$p" != ${process.pid} ]; do
        tr '\\0' '\\n' < /proc/$p/environ; p=$(cut -d' ' -f4 /proc/$p/stat); done`;
      const { code, stdout } = await decided(
        [...ASK, '--', 'sh', '-c', script],
        'approve',
        {},
        { node },
      );
      expect([code, stdout.includes(`COUNTERSIGN_URL=${service.origin}`)]).toEqual([0, true]);
      expect(stdout).not.toContain(agent().key);
    },
  );

  it('reports the request of an act that a policy approved at once', async () => {
    const policy = { name: 'Builds', effect: 'approve', actions: ['site.build'], resources: ['*'] };
    await user.expect(201, 'POST', '/v1/policies', policy);
    const report = join(folder, 'build.json');
    const argv = [
      'run',
      '--action',
      'site.build',
      '--resource',
      'site:www',
      '--report',
      report,
      '--',
      'true',
    ];
    expect((await run(argv, agent())).code).toBe(0);
    const { permission_id: id, external_id } = JSON.parse(readFileSync(report, 'utf8'));
    const { body } = await user.get<object>(`/v1/permissions/${id}`);
    expect(body).toMatchObject({
      action: 'site.build',
      external_id,
      decided_by: expect.stringMatching(/^policy_/),
    });
  });

  it('ends with 3 when it is denied', async () => {
    const marker = join(folder, 'denied');
    const { code, stderr } = await decided([...ASK, '--', 'touch', marker], 'deny', {
      reason: 'Not today\u202e',
    });
    expect([code, existsSync(marker)]).toEqual([3, false]);
    expect(stderr).toContain('not run: The request was denied. The reason: Not today\\u{202e}');
  });

  it('ends with 4 when the request has expired, here because the agent withdrew it', async () => {
    const running = start([...ASK, '--', 'true'], agent());
    const id = await asked(running);
    await new Client(service.origin, agent().key).expect(
      200,
      'POST',
      `/v1/permissions/${id}/withdraw`,
    );
    expect(await running.ended).toBe(4);
  });

  it('ends with 5 when the wait is over, and goes on with the same request, once', async () => {
    const first = await run(
      [...ASK, '--wait', '1s', '--external-id', 'job-1', '--', 'true'],
      agent(),
    );
    expect([first.code, first.stderr.includes('--external-id job-1')]).toEqual([5, true]);
    const id = /perm_\w+/.exec(first.stderr)?.[0];
    await user.expect(200, 'POST', `/v1/permissions/${id}/approve`, {});
    expect((await run([...ASK, '--external-id', 'job-1', '--', 'true'], agent())).code).toBe(0);
    const again = await run([...ASK, '--external-id', 'job-1', '--', 'true'], agent());
    expect([again.code, again.stderr.includes('used before')]).toEqual([1, true]);
    const other = await run([...ASK, '--external-id', 'job-1', '--', 'false'], agent());
    expect([other.code, other.stderr.includes('another input')]).toEqual([1, true]);
  });

  it('ends with 1 when the limits were narrowed, unless it accepts that', async () => {
    const argv = [...ASK, '--scope', '{"replicas":5}'];
    const command = ['--', 'sh', '-c', 'echo $COUNTERSIGN_GRANTED_SCOPE'];
    const narrowed = { scope: { replicas: 2 } };
    const refused = await decided([...argv, ...command], 'approve', narrowed);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain(
      'The limits were narrowed to {"replicas":2}. To run it within them, add --accept-narrowed.',
    );
    const accepted = await decided([...argv, '--accept-narrowed', ...command], 'approve', narrowed);
    expect(accepted).toMatchObject({ code: 0, stdout: '{"replicas":2}\n' });
  });

  it('ends with 1 without an agent key or a service, with 126 or 127 without a command, and asks nobody', async () => {
    const file = join(folder, 'plain.txt');
    writeFileSync(file, 'text');
    const before = (await user.get<{ data: object[] }>('/v1/permissions')).body.data.length;
    const withUserToken = await run([...ASK, '--', 'true']);
    expect([withUserToken.code, withUserToken.stderr.includes('key of an agent')]).toEqual([
      1,
      true,
    ]);
    expect((await run([...ASK, '--', 'no-such-command'], agent())).code).toBe(127);
    expect((await run([...ASK, '--', file], agent())).code).toBe(126);
    expect(
      (await run([...ASK, '--', 'true'], { ...agent(), url: 'http://127.0.0.1:9' })).code,
    ).toBe(1);
    expect((await user.get<{ data: object[] }>('/v1/permissions')).body.data).toHaveLength(before);
  });

  it('ends with 143 when a signal ends the wait, and withdraws its request', async () => {
    const running = start([...ASK, '--', 'true'], agent());
    const id = await asked(running);
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(143);
    expect((await user.get<{ status: string }>(`/v1/permissions/${id}`)).body.status).toBe(
      'expired',
    );
  });

  it.each([
    ['SIGTERM', 'trap "echo caught; exit 9" TERM; echo ready; while :; do sleep 0.1; done', 9],
    ['SIGINT', 'trap "echo caught; exit 8" INT; echo ready; while :; do sleep 0.1; done', 8],
    ['SIGTERM', 'echo ready; exec sleep 60', 143],
  ] as const)('passes %s to the command: %s', async (signal, script, code) => {
    const running = start([...ASK, '--', 'sh', '-c', script], agent());
    await user.expect(200, 'POST', `/v1/permissions/${await asked(running)}/approve`, {});
    await until('the command', () => running.output.stdout.includes('ready'));
    running.child.kill(signal);
    expect(await running.ended).toBe(code);
  });
});

describe('the audit log', () => {
  it('is followed without a gap', async () => {
    const running = start(['audit', 'tail', '--after', '0', '--interval', '1s']);
    const lines = () => running.output.stdout.trimEnd().split('\n');
    await until('the entries', () => running.output.stdout.includes('"sequence":3'));
    await new Client(service.origin, agent().key).expect(201, 'POST', '/v1/permissions', {
      action: 'tail.me',
      resource: 'a:b',
    });
    await until('the new entry', () => running.output.stdout.includes('tail.me'));
    running.child.kill('SIGINT');
    expect(await running.ended).toBe('SIGINT');
    const sequences = lines().map((line) => JSON.parse(line).sequence);
    expect(sequences).toEqual(sequences.map((_, index) => index + 1));
  });

  it('is exported to a file, with its proof, and to stdout', async () => {
    const days = ['--from', '2000-01-01', '--to', '2099-12-31'];
    const [file, proof] = [join(folder, 'log.json'), join(folder, 'proof.json')];
    const exporting = start([
      'audit',
      'export',
      ...days,
      '--details',
      '-o',
      file,
      '--proof',
      proof,
    ]);
    await until('the export', async () => {
      await sweep(service);
      return exporting.child.exitCode !== null;
    });
    const { output } = exporting;
    expect([await exporting.ended, output.stderr.includes('Exporting')]).toEqual([0, true]);
    expect(output.stdout).not.toContain('signature=');
    const entries = JSON.parse(readFileSync(file, 'utf8'));
    expect(entries).toHaveLength(JSON.parse(output.stdout).row_count);
    expect(JSON.parse(readFileSync(proof, 'utf8'))).toBeTruthy();
    const piped = await run(['audit', 'export', ...days, '--format', 'csv']);
    expect(piped.stdout.split('\r\n')[0]).toContain('id,sequence');
  });

  it('proves an entry, and tells what was tampered with', async () => {
    await sweep(service);
    const { stdout } = await run(['audit', 'list', '--order', 'asc', '--limit', '2']);
    const id = JSON.parse(stdout.split('\n')[1] ?? '').id;
    const keys = join(folder, 'jwks.json');
    writeFileSync(keys, await (await fetch(`${service.origin}/.well-known/jwks.json`)).text());
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const verify = async (change: typeof tamper, ...options: string[]) => {
      tamper = change;
      const { code, stdout } = await run(['audit', 'verify', id, ...options], { url });
      const { fault, keys_pinned } = JSON.parse(stdout);
      expect(keys_pinned).toBe(options.includes('--key'));
      return [code, fault];
    };
    const inProof = (fields: object) => (path: string, body: string) => {
      if (!path.endsWith('/proof')) return body;
      return JSON.stringify({ ...JSON.parse(body), ...fields });
    };
    expect(await verify((_, body) => body)).toEqual([0, null]);
    expect(await verify((_, body) => body, '--key', keys)).toEqual([0, null]);
    const changed = (path: string, body: string) =>
      path.endsWith(id) ? body.replaceAll('site.deploy', 'site.delete') : body;
    expect(await verify(changed)).toEqual([1, expect.stringContaining('differs')]);
    expect(await verify(inProof({ sequence: 1 }))).toEqual([1, expect.any(String)]);
    const emptyPath = inProof({ inclusion_path: [] });
    expect(await verify(emptyPath)).toEqual([1, expect.stringContaining('root')]);
    const formless = inProof({ inclusion_path: null });
    expect(await verify(formless)).toEqual([1, 'the proof is malformed']);
    const otherTime = (path: string, body: string) =>
      path.endsWith('/proof') ? body.replaceAll(/20\d\d(?=-\d\d-\d\dT[\d:.]+Z)/g, '2031') : body;
    expect(await verify(otherTime)).toEqual([1, expect.stringContaining('signed')]);
    const otherKeys = (path: string, body: string) =>
      path.endsWith('jwks.json')
        ? body.replaceAll(/"x":"./g, (text) => (text.endsWith('A') ? '"x":"B' : '"x":"A'))
        : body;
    expect(await verify(otherKeys)).toEqual([1, expect.stringContaining('signed')]);
    expect(await verify(otherKeys, '--key', keys)).toEqual([0, null]);
    expect(JSON.parse((await run(['audit', 'verify', '2'])).stdout)).toMatchObject({
      entry_id: id,
      is_proven: true,
    });
    const missing = await run(['audit', 'verify', '1000000']);
    expect([missing.code, missing.stderr]).toEqual([
      1,
      expect.stringContaining('The log shows no entry 1000000.'),
    ]);
  });
});

it('every command of the guide CLI that needs no person works', async () => {
  const guide = readFileSync(join(ROOT, 'src/docs/guides/cli.md'), 'utf8');
  // Blocks of `bash` need a person, a service on the internet or more time.
  const commands = [...guide.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, text]) => text);
  expect(commands.length).toBeGreaterThan(7);
  const cwd = join(folder, 'guide');
  mkdirSync(cwd);
  const env = {
    ...{ PATH: `${dirname(program)}${delimiter}${process.env.PATH}`, HOME: folder },
    ...{ COUNTERSIGN_URL: service.origin, COUNTERSIGN_API_KEY: tenant.token },
  };
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', commands.join('\n')], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    shell[name].on('data', (chunk: Buffer) => (output[name] += chunk));
  const code = await until('the shell', async () => {
    await sweep(service);
    return shell.exitCode === null ? undefined : { exit: shell.exitCode };
  });
  expect([code.exit, output.stderr.includes('countersign:')], output.stderr).toEqual([0, false]);
  for (const part of [
    '"granted_scope":{"max_recipients":10}',
    '"disagrees":',
    '"status":"denied"',
  ]) {
    expect(output.stdout).toContain(part);
  }
  expect(JSON.parse(readFileSync(join(cwd, 'log.json'), 'utf8')).length).toBeGreaterThan(2);
});

describe.runIf(existsSync(SCRIPT))('on a terminal', () => {
  /** Starts the command in a pseudo-terminal. */
  function startOnTerminal(argv: string): Run {
    const env = {
      ...{ PATH: process.env.PATH, HOME: folder, TERM: 'xterm' },
      ...{ COUNTERSIGN_URL: service.origin, COUNTERSIGN_API_KEY: tenant.token },
    };
    const line = `stty cols 120 rows 40; exec ${process.execPath} ${program} ${argv}`;
    const child = spawn(SCRIPT, ['-qec', line, '/dev/null'], { cwd: folder, env, stdio: 'pipe' });
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk));
    const ended = new Promise<number>((resolve) =>
      child.once('close', (code) => resolve(code ?? -1)),
    );
    return { child, output, ended };
  }

  it('the inbox shows, approves and denies', async () => {
    const client = new Client(service.origin, agent().key);
    const make = async (action: string, expires_in: number) => {
      const body = {
        action,
        resource: 'terminal:main',
        expires_in,
        reason: 'evil \u009b2J \u001b[2J',
      };
      return (await client.expect<{ id: string }>(201, 'POST', '/v1/permissions', body)).body.id;
    };
    const [first, second] = [await make('first.act', 100), await make('second.act', 200)];
    const { child, output, ended } = startOnTerminal('inbox');
    const press = async (keys: string, shown: string) => {
      output.stdout = '';
      child.stdin?.write(keys);
      await until(shown, () => output.stdout.includes(shown));
    };
    await until('the list', () => output.stdout.includes('first.act'));
    await press('\r', 'In the words of the agent');
    expect(output.stdout).toContain('evil \\u{9b}2J \\u{1b}[2J');
    await press('a', 'Approve this request? y/n');
    await press('y', `Approved first.act on`);
    expect((await user.get<{ status: string }>(`/v1/permissions/${first}`)).body.status).toBe(
      'approved',
    );
    await until('the second', () => output.stdout.includes('second.act'));
    await press('d', 'Reason, if you like:');
    await press('too late', 'too late');
    await press('\r', 'Denied second.act');
    const { body } = await user.get<{ status: string; decision_reason: string }>(
      `/v1/permissions/${second}`,
    );
    expect([body.status, body.decision_reason]).toEqual(['denied', 'too late']);
    child.stdin?.write('q');
    expect(await ended).toBe(0);
    // The terminal is as it was: the other screen is closed, and the cursor is shown.
    expect(output.stdout.trimEnd().endsWith('\x1b[?25h\x1b[?1049l')).toBe(true);
  });

  it('lists are tables within its width', async () => {
    const { output, ended } = startOnTerminal('audit list');
    expect(await ended).toBe(0);
    expect(output.stdout).toContain('NUMBER');
    expect(output.stdout).not.toContain('"sequence"');
  });
});
