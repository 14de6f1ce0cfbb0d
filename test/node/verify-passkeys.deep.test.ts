import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROOT } from '../../src/tools/project';
import { Service } from '../support/local/restartable-service';
import { ADMIN_TOKEN, freePort, prepareState } from '../support/local/service';
import { type Algorithm, Passkey } from '../support/signed-votes';

// biome-ignore lint/suspicious/noExplicitAny: answers of the service
type Json = any;

interface Member {
  id: string;
  token: string;
  passkey: Passkey;
}

const folder = mkdtempSync(join(tmpdir(), 'countersign-passkeys-'));
const state = join(folder, 'state');
const REQUEST = {
  action: 'email.send',
  resource: 'mailbox:support',
  scope: { amount: 9.5, folders: ['inbox', 'sent'], größer: { '10': 1, '9': null } },
  token_ttl: 900,
  max_uses: 3,
  input: { to: 'ada@example.com' },
  preview: { title: 'Reply' },
};
let service: Service;
let account: Json;
let people: [Member, Member, Member];
/** The permissions, by how they ended. */
let ended: { approved: string; denied: string; withdrawn: string; direct: string };

async function call(
  method: string,
  path: string,
  credential: string,
  body?: object,
): Promise<Json> {
  const response = await fetch(service.origin + path, {
    method,
    headers: { Authorization: `Bearer ${credential}`, 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text && JSON.parse(text);
}

/** Accepts an invitation with a new passkey, and makes a user token in the console. */
async function joinAs(id: string, url: string, algorithm: Algorithm): Promise<Member> {
  const { origin } = service;
  const passkey = new Passkey(algorithm);
  const headers = { Origin: origin, 'Content-Type': 'application/json' };
  const post = (address: string, body?: object) =>
    fetch(address, { method: 'POST', headers, ...(body && { body: JSON.stringify(body) }) });
  const options = await (await post(`${url}/options`)).json();
  const joined = await post(url, { name: 'Laptop', response: passkey.create(options, { origin }) });
  const [cookie = ''] = joined.headers.getSetCookie()[0]?.split(';') ?? [];
  const page = await (await fetch(`${origin}/console/me`, { headers: { Cookie: cookie } })).text();
  const csrf = /name="csrf-token" content="([^"]+)"/.exec(page)?.[1] ?? '';
  const form = { method: 'POST', headers: { Origin: origin, Cookie: cookie } };
  const body = new URLSearchParams({ csrf, name: 'Terminal' });
  const made = await (await fetch(`${origin}/console/me/tokens`, { ...form, body })).text();
  return { id, token: /csu_[0-9A-Za-z]{40}/.exec(made)?.[0] ?? '', passkey };
}

/** Signs a decision and sends it. */
async function decide(
  { token, passkey }: Member,
  id: string,
  decision: string,
  fields: object = {},
) {
  const { statement, options } = await call('POST', `/v1/permissions/${id}/statement`, token, {
    decision,
    ...fields,
  });
  const assertion = passkey.get(options, { origin: service.origin });
  const body = { ...fields, signed_at: statement.signed_at, assertion };
  return await call('POST', `/v1/permissions/${id}/${decision}`, token, body);
}

/** Exports the whole log with details to files with a name. */
async function exportLog(name: string, format: string): Promise<void> {
  const body = { format, start_date: '2020-01-01', end_date: '2100-01-01', include_details: true };
  let order = await call('POST', '/v1/audit/export', account.token.token, body);
  for (const deadline = Date.now() + 60_000; order.status !== 'completed'; await sleep(250)) {
    if (Date.now() > deadline) throw new Error(`the export is ${order.status}`);
    await service.triggerCrons();
    order = await call('GET', `/v1/audit/export/${order.export_id}`, account.token.token);
  }
  const save = async (address: string, path: string) =>
    writeFileSync(join(folder, path), Buffer.from(await (await fetch(address)).arrayBuffer()));
  await save(order.download_url, name);
  if (order.proof_url) await save(order.proof_url, `${name}-proof`);
}

/** Runs the command as npm does, from outside the package's folder. */
function verify(...args: string[]): Promise<{ code: number; report: Json }> {
  const env = { ...process.env, INIT_CWD: folder, COUNTERSIGN_TOKEN: account.token.token };
  return new Promise((done) => {
    execFile(
      process.execPath,
      ['src/packages/verify/main.ts', ...args, '--json'],
      { cwd: ROOT, env },
      (error, stdout) => done({ code: error ? Number(error.code) : 0, report: JSON.parse(stdout) }),
    );
  });
}

beforeAll(async () => {
  await prepareState(state);
  service = new Service(state, await freePort());
  await service.start();
  account = await call('POST', '/v1/admin/users', ADMIN_TOKEN, {
    email: 'ada@example.com',
    plan: 'pro',
  });
  const invite = async (role: string) =>
    await call('POST', '/v1/members', account.token.token, { email: `${role}@example.com`, role });
  const [second, third] = [await invite('admin'), await invite('approver')];
  people = [
    await joinAs(account.owner.id, account.owner.invitation.url, 'EdDSA'),
    await joinAs(second.id, second.invitation.url, 'RS256'),
    await joinAs(third.id, third.invitation.url, 'ES256'),
  ];
  const [ada, bob, carol] = people;
  const agent = await call('POST', '/v1/agents', account.token.token, { name: 'Agent' });
  const request = async () => (await call('POST', '/v1/permissions', agent.api_key, REQUEST)).id;
  const direct = await request();
  await decide(ada, direct, 'approve', {
    scope: { ...REQUEST.scope, folders: ['inbox'] },
    max_uses: 1,
  });
  await call('POST', '/v1/policies', account.token.token, {
    ...{ name: 'People', effect: 'review', actions: ['*'], resources: ['*'] },
    review: { approvals: 3, passkey: true, allow_self: true },
  });
  const [approved, denied, withdrawn] = [await request(), await request(), await request()];
  await decide(ada, approved, 'approve', { reason: ' „Ja“ ' });
  await decide(bob, approved, 'approve', { scope: { ...REQUEST.scope, amount: 3 }, token_ttl: 60 });
  await decide(carol, approved, 'approve', { max_uses: 1 });
  await decide(carol, denied, 'approve', { scope: { ...REQUEST.scope, folders: ['sent'] } });
  await decide(bob, denied, 'deny', { reason: 'No' });
  await decide(bob, withdrawn, 'approve');
  await call('POST', `/v1/permissions/${withdrawn}/withdraw`, agent.api_key);
  ended = { approved, denied, withdrawn, direct };
  const pinned = people.map(async ({ id }) => [
    id,
    (await call('GET', `/v1/members/${id}`, account.token.token)).passkeys,
  ]);
  const members = Object.fromEntries(await Promise.all(pinned));
  writeFileSync(join(folder, 'keys.json'), JSON.stringify({ origin: service.origin, members }));
  const keys = await (await fetch(`${service.origin}/.well-known/jwks.json`)).text();
  writeFileSync(join(folder, 'jwks.json'), keys);
  for (const format of ['json', 'parquet', 'csv']) await exportLog(`export.${format}`, format);
});

afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true, maxRetries: 5, retryDelay: 200 });
});

const expectProven = ({ code, report }: Awaited<ReturnType<typeof verify>>) => {
  expect([report.faults, report.unchecked]).toEqual([[], []]);
  expect(code).toBe(0);
  expect(report.proven.join()).toContain('Passkeys that you pinned signed 7 votes');
  for (const { id } of people) expect(report.proven.join()).toContain(id);
};

it.each(['json', 'parquet'])(
  'signed votes of the service are proven with the proof of an export: %s',
  async (format) => {
    const proof = ['--proof', `export.${format}-proof`, '--key', 'jwks.json'];
    expectProven(await verify(`export.${format}`, ...proof, '--passkeys', 'keys.json'));
  },
);

it.each(['json', 'parquet', 'csv'])(
  'signed votes of the service are proven without a proof: %s',
  async (format) => {
    expectProven(await verify(`export.${format}`, '--passkeys', 'keys.json'));
  },
);

it('signed votes of the service are proven with the whole log', async () => {
  expectProven(await verify(service.origin, '--passkeys', 'keys.json'));
});

it('one changed word in an export is found by the signature, and its vote is named', async () => {
  const rows: Json[] = JSON.parse(readFileSync(join(folder, 'export.json'), 'utf8'));
  for (const [id, event, change] of [
    [ended.approved, 'approve', ({ votes }: Json) => (votes[0].reason = '„Nein“')],
    [ended.denied, 'deny', ({ votes }: Json) => (votes[0].max_uses = 2)],
    [ended.withdrawn, 'expire', ({ votes }: Json) => (votes[0].token_ttl = 901)],
    [
      ended.direct,
      'approve',
      (details: Json) => (details.scope.folders[0] = details.votes[0].scope.folders[0] = 'sent'),
    ],
  ] as const) {
    const changed = structuredClone(rows);
    const row = changed.find((row) => row.permission_request_id === id && row.event_type === event);
    change(row.details);
    const text = `[\n${changed.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`;
    writeFileSync(join(folder, 'changed.json'), text);
    const { code, report } = await verify('changed.json', '--passkeys', 'keys.json');
    expect([event, code]).toEqual([event, 1]);
    const evidence = { permission: id, vote: 1, member: row.details.votes[0].by };
    expect(report.faults).toMatchObject([
      { kind: 'vote', sequence: row.sequence, id: row.id, evidence },
    ]);
  }
});

it('the commands of the guide pin passkeys and verify who decided', async () => {
  const project = join(folder, 'project');
  mkdirSync(project);
  symlinkSync(join(ROOT, 'node_modules'), join(project, 'node_modules'));
  for (const [from, to] of [
    ['export.json', 'export.json'],
    ['export.json-proof', 'proof.json'],
    ['export.csv', 'export.csv'],
    ['jwks.json', 'jwks.json'],
  ] as const) {
    copyFileSync(join(folder, from), join(project, to));
  }
  writeFileSync(join(project, 'input.json'), JSON.stringify(REQUEST.input));
  const guide = readFileSync(join(ROOT, 'src/docs/guides/verifying.md'), 'utf8');
  const [, section = ''] = /^## Who decided.*\n([\s\S]*?)^## /m.exec(guide) ?? [];
  const [pin = '', ...others] = [...section.matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)].map(
    ([, text = '']) => text,
  );
  const commands = [...people.map(({ id }) => pin.replace('member_…', id)), ...others].join('\n');
  const script = commands
    .replaceAll('https://countersign.example.com', service.origin)
    .replaceAll('npm run verify --', `node ${join(ROOT, 'src/packages/verify/main.ts')}`);
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: project,
    env: { ...process.env, INIT_CWD: project, TOKEN: account.token.token },
  });
  expect(stdout.match(/^Proven\.$/gm)).toHaveLength(2);
  expect(stdout.match(/^ {2}Passkeys that you pinned signed 7 votes/gm)).toHaveLength(2);
  const [entry]: Json[] = JSON.parse(readFileSync(join(folder, 'export.json'), 'utf8'));
  expect(stdout.trim().split('\n').at(-1)).toBe(entry.details.input_digest);
});
