import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROOT } from '../../src/tools/project';
import { Client as Api } from '../support/local/client';
import { prepareState, type Service, startService } from '../support/local/service';
import { createTenant } from '../support/local/tenant';
import { REVISIONS } from '../support/mcp-revisions';

const PROGRAM = join(ROOT, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const MCP_REMOTE = join(ROOT, 'node_modules/mcp-remote/dist/proxy.js');

/**
 * The scenarios of the official conformance program that do not apply, each with the reason. The
 * program runs all of its scenarios and fails if another one fails, or if one of these passes.
 */
const NOT_APPLICABLE: Record<string, string> = {
  ...reason('the scenario calls a test tool by name, which a real server does not have', [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-with-logging',
    'tools-call-error',
    'tools-call-with-progress',
    'tools-call-sampling',
    'tools-call-elicitation',
    'json-schema-2020-12',
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
  ]),
  ...reason('the server has no resources', [
    'resources-list',
    'resources-read-text',
    'resources-read-binary',
    'resources-templates-read',
    'resources-subscribe',
    'resources-unsubscribe',
  ]),
  ...reason('the server has no prompts, and so nothing to complete', [
    'prompts-list',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
    'completion-complete',
  ]),
  ...reason('the server sends no log messages', ['logging-set-level']),
  ...reason('the server has no sessions and answers with JSON instead of streams', [
    'server-sse-polling',
    'server-sse-multiple-streams',
  ]),
};

/** The scenarios that apply. */
const APPLICABLE = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'];

function reason(why: string, scenarios: string[]): Record<string, string> {
  return Object.fromEntries(scenarios.map((name) => [name, why]));
}

const folder = mkdtempSync(join(tmpdir(), 'countersign-mcp-'));
let service: Service;
let gateway: Server;
let origin: string;
let token: string;

beforeAll(async () => {
  // The conformance program sends no credential, so a gateway adds it.
  gateway = createServer((incoming, outgoing) => {
    const headers = { authorization: `Bearer ${token}`, ...incoming.headers };
    const { hostname, port } = new URL(service.origin);
    const forwarded = request(
      { hostname, port, path: incoming.url, method: incoming.method, headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      },
    );
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  await prepareState(folder);
  const variables = join(folder, 'variables.env');
  writeFileSync(
    variables,
    readFileSync(variables, 'utf8').replace(/^PUBLIC_URL=.*$/m, `PUBLIC_URL="${origin}"`),
  );
  service = await startService(folder);
});

afterAll(async () => {
  gateway.closeAllConnections();
  gateway.close();
  await service.stop();
  rmSync(folder, { recursive: true, maxRetries: 5, retryDelay: 200 });
});

it('the official conformance program finds no fault', async () => {
  const tenant = await createTenant(service.origin, 'pro', 1);
  token = tenant.agents[0]?.key ?? '';
  const expected = join(folder, 'expected-failures.json');
  writeFileSync(expected, JSON.stringify({ server: Object.keys(NOT_APPLICABLE) }));
  const options = [
    '--url',
    `${origin}/mcp`,
    '--suite',
    'all',
    '--expected-failures',
    expected,
    '-o',
    folder,
  ];
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, 'server', ...options], {
    cwd: folder,
  }).catch(({ stdout, stderr }) => expect.fail(`${stdout}${stderr}`));
  const passed = [...stdout.matchAll(/^✓ ([\w-]+): [1-9]\d* passed, 0 failed$/gm)].map(
    ([, name]) => name,
  );
  expect(passed).toEqual(APPLICABLE);
});

it.each(REVISIONS)(
  'an agent with the official client asks, waits and acts: %s',
  async (revision) => {
    const tenant = await createTenant(service.origin, 'pro', 1);
    token = tenant.agents[0]?.key ?? '';
    const mode = revision === REVISIONS[0] ? { pin: revision } : ('legacy' as const);
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`)));
    expect((await client.listTools()).tools).toHaveLength(6);
    const call = async (name: string, fields: object) => {
      const { isError, content, structuredContent } = await client.callTool({
        name,
        arguments: { ...fields },
      });
      expect([isError ?? false, content]).toEqual([false, expect.anything()]);
      // biome-ignore lint/suspicious/noExplicitAny: the test asserts what it looks into
      return structuredContent as any;
    };
    const input = { to: 'ada@example.com' };
    const { permission } = await call('request_permission', {
      action: 'email.send',
      resource: 'mailbox:a',
      input,
    });
    const waiting = call('wait_for_decision', { permission_id: permission.id, seconds: 20 });
    const people = new Api(service.origin, tenant.token);
    await people.expect(200, 'POST', `/v1/permissions/${permission.id}/approve`, {});
    expect((await waiting).permission.status).toBe('approved');
    expect(await call('use_token', { permission_id: permission.id, input })).toMatchObject({
      active: true,
      uses: 1,
    });
    await client.close();
  },
);

/** Starts mcp-remote with a credential, as a desktop client would. */
function startMcpRemote(credential: string) {
  const env = {
    ...process.env,
    MCP_REMOTE_CONFIG_DIR: join(folder, 'mcp-remote'),
    AUTHORIZATION: `Bearer ${credential}`,
  };
  // biome-ignore lint/suspicious/noTemplateCurlyInString: mcp-remote itself puts the variable in
  const args = [MCP_REMOTE, `${origin}/mcp`, '--header', 'Authorization:${AUTHORIZATION}'];
  return { command: process.execPath, args, env: env as Record<string, string> };
}

it('mcp-remote says what to do about a key that is refused', async () => {
  const { command, args, env } = startMcpRemote('csa_wrong');
  const { code, stderr } = await promisify(execFile)(command, args, { env }).catch(
    (error) => error,
  );
  expect(code).toBe(1);
  expect(stderr).toMatch(/no OAuth sign-in.* agent key or a user token.*Authorization: Bearer/);
});

it('mcp-remote serves the tools of a valid key', async () => {
  const tenant = await createTenant(service.origin, 'pro', 1);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport(startMcpRemote(tenant.agents[0]?.key ?? '')));
  expect((await client.listTools()).tools).toHaveLength(6);
  await client.close();
});
