import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runInProcess } from '../support/cli';
import { Client } from '../support/local/client';
import { hasPdfTools, readPdfText, runTool } from '../support/local/pdf-tools';
import { pause } from '../support/local/sdk-scene';
import { prepareState, type Service, startService, sweep } from '../support/local/service';
import { answers, cutsBeforeHead, StandIn } from '../support/local/stand-in';
import { createTenant, type Tenant } from '../support/local/tenant';
import { MarkedSecret } from '../support/marked-secret';

const SECRET = new MarkedSecret('sk_live_MARKED_Zb7QfJ3mVtX9LrKdPw');
const CREDENTIAL = `Bearer ${SECRET.text}`;
/** The name of the agent, which is in reports: what is searched for can be found there. */
const NAME = new MarkedSecret('Bookkeeper_MARKED_hG5sNyC8eWqA2uTzMo');
/** A port on which nothing listens. */
const NOWHERE = 'http://127.0.0.1:9';
const CAN_READ_PDF = hasPdfTools();

const folder = mkdtempSync(join(tmpdir(), 'countersign-secret-'));
let service: Service;
let tenant: Tenant;
let user: Client;
let agent: Tenant['agents'][number];
let standIn: StandIn;
/** All that commands printed or saved. */
const printed: string[] = [];

beforeAll(async () => {
  await prepareState(folder);
  service = await startService(folder);
  await createTenant(service.origin, 'pro', 1);
  tenant = await createTenant(service.origin, 'enterprise', 2);
  user = new Client(service.origin, tenant.token);
  [, agent = { id: '', key: '' }] = tenant.agents;
  await user.expect(200, 'PUT', `/v1/agents/${agent.id}`, { name: NAME.text });
  standIn = await StandIn.start(answers({ done: true }));
});
afterAll(async () => {
  standIn?.stop();
  await service?.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

/** Commands wait only a moment for a service that is not there. */
const clock = { now: Date.now, sleep: () => pause(20) };

interface Setting {
  stdin?: string;
  env?: Record<string, string>;
}

/** Runs a command for a program and on a terminal, and returns what each printed on stdout. */
async function run(argv: string[], { stdin, env }: Setting = {}): Promise<string[]> {
  const shown = [];
  for (const columns of [undefined, 200]) {
    const settings = {
      env: { COUNTERSIGN_URL: service.origin, COUNTERSIGN_API_KEY: tenant.token, ...env },
      fetch,
      clock,
      ...(stdin !== undefined && { stdin }),
      ...(columns !== undefined && { columns }),
    };
    const { code, stdout, stderr } = await runInProcess(argv, {}, settings);
    printed.push(`${argv.slice(0, 3).join(' ')} → ${code}\n${stdout}\n${stderr}`);
    shown.push(stdout);
  }
  return shown;
}

function save(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const fields = (changes: object = {}) => ({
  name: 'Payments',
  base_url: standIn.origin,
  auth: { type: 'header' },
  secret: SECRET.text,
  rules: [{ effect: 'ask', action: 'payout.send', title: 'Pay {amount} EUR' }],
  agent_ids: [agent.id],
  wait: 0,
  ...changes,
});

/** Makes a call through a connection, and returns the permission that it needed. */
async function act(connection: string, amount: number): Promise<string> {
  const answer = await fetch(`${service.origin}/v1/connections/${connection}/proxy/payouts`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${agent.key}`,
      'Content-Type': 'application/json',
    },
    body: JSON.stringify({ amount }),
  });
  const { permission_id: refused } = (await answer.json()) as { permission_id?: string };
  return refused ?? answer.headers.get('Countersign-Permission') ?? '';
}

/** Creates connections in each way that the command has, and in wrong ways. */
async function createConnections(): Promise<void> {
  const key = save('key.txt', `${SECRET.text}\n`);
  const file = save('fields.json', JSON.stringify(fields()));
  const options = ['--base-url', standIn.origin, '--agent', agent.id];
  const create = ['connections', 'create', '--name', 'By options', '--auth', 'header'];
  await run([...create, ...options, '--secret-file', key, '--allow-reads']);
  await run([...create, ...options, '--secret-file', '-', '--slug', 'in'], { stdin: SECRET.text });
  await run(['connections', 'create', '--file', file]);
  await run(['connections', 'create', '--file', '-'], { stdin: JSON.stringify(fields()) });
  await run([...create, ...options, '--secret-file', `/nowhere/${SECRET.text}`]);
  await run([...create, ...options, '--secret-file', SECRET.text]);
  await run([...create, ...options, '--secret', SECRET.text]);
  await run([...create, ...options, `--secret=${SECRET.text}`]);
  const wrong = [
    fields({ auth: { type: 'none' } }),
    fields({ auth: { type: 'basic' } }),
    fields({ secret: `${SECRET.text}\n` }),
    fields({ secret: [SECRET.text] }),
    fields({ secrets: SECRET.text }),
    fields({ wait: 'soon' }),
    fields({ base_url: 'http://' }),
    fields({ agent_ids: [] }),
  ].map((each) => JSON.stringify(each));
  const text = JSON.stringify(fields({ slug: 'broken' }));
  const broken = [
    `{"secret": ${SECRET.text}`,
    SECRET.text,
    `"${SECRET.text}"`,
    text.slice(0, -1),
    text.replace('"name"', `"secret":"${SECRET.text}","name"`),
    text.replace('"wait":0', '"wait":12345678901234567890'),
  ];
  for (const stdin of [...wrong, ...broken]) {
    await run(['connections', 'create', '--file', '-'], { stdin });
    await run(['api', 'POST', '/v1/connections', '--data', '-'], { stdin });
    await run(['api', 'POST', '/v1/connections', '--data', stdin]);
  }
}

/** Fails in the ways that every command has. */
async function failAround(argv: string[], stdin?: string): Promise<void> {
  const environments = [
    { COUNTERSIGN_URL: NOWHERE },
    { COUNTERSIGN_API_KEY: 'csu_00yOSJMaGX79xNux1OktY0smCDXj3EtCBd2Dx8N7' },
    { COUNTERSIGN_API_KEY: agent.key },
  ];
  for (const env of environments) await run(argv, { env, ...(stdin !== undefined && { stdin }) });
}

/** Reads, tests and changes a connection, while the other service answers in every way. */
async function useConnection(id: string): Promise<void> {
  const path = `/v1/connections/${id}`;
  for (const argv of [
    ['connections', 'list'],
    ['connections', 'show', id],
    ['api', 'GET', path],
    ['api', 'GET', `${path}/reads`],
    ['connections', 'show', `${id.slice(0, -1)}0`],
  ]) {
    await run(argv);
    await failAround(argv);
  }
  const echo = { 'X-Echo': CREDENTIAL, Location: `/${SECRET.text}` };
  for (const status of [200, 302, 400, 401, 500]) {
    const reply = answers({ sent: CREDENTIAL }, status, echo);
    standIn.script(reply, reply);
    await run(['connections', 'test', id, '/balance']);
  }
  standIn.script(cutsBeforeHead, cutsBeforeHead);
  await run(['connections', 'test', id, '/balance']);
  for (const stdin of [
    { secret: SECRET.text },
    { secret: `${SECRET.text}\n` },
    { secret: SECRET.text, slug: 'other' },
    { secret: SECRET.text, auth: { type: 'none' } },
    { base_url: NOWHERE },
  ]) {
    const argv = ['api', 'PUT', path, '--data', '-'];
    await run(argv, { stdin: JSON.stringify(stdin) });
    await failAround(argv, JSON.stringify(stdin));
  }
}

/** Shows requests of a connection and their entries with every command that does. */
async function showActs(connection: string): Promise<void> {
  const waiting = await act(connection, 1);
  const denied = await act(connection, 2);
  const done = await act(connection, 3);
  await run(['inbox']);
  await run(['approve', done, '--reason', 'As invoiced']);
  await run(['deny', denied]);
  standIn.script(answers({ sent: CREDENTIAL }, 500, { 'X-Echo': CREDENTIAL }));
  expect(await act(connection, 3)).toBe(done);
  await waitForOutcome(done);
  await sweep(service);
  for (const id of [waiting, denied, done]) await run(['show', id]);
  await run(['outcome', done, 'failed']);
  const saved = ['receipt.json', 'log.json', 'log.csv'].map((name) => join(folder, name));
  const [receipt = '', json = '', csv = ''] = saved;
  await run(['receipt', done, '-o', receipt]);
  await run(['audit', 'list', '--limit', '100']);
  await run(['audit', 'list', '--permission', done]);
  const days = ['--from', today(), '--to', today(), '--details'];
  await run(['audit', 'export', ...days, '-o', json]);
  await run(['audit', 'export', ...days, '--format', 'csv', '-o', csv]);
  await run(['agents', 'show', agent.id]);
  await run(['whoami']);
  for (const path of saved) printed.push(readFileSync(path, 'utf8'));
}

/** Waits until the service has written down how an act ended. */
async function waitForOutcome(permission: string): Promise<void> {
  type Shown = { outcome: { status: string } };
  for (let status = 'awaited'; status === 'awaited'; await pause(50))
    ({ status } = (await user.get<Shown>(`/v1/permissions/${permission}`)).body.outcome);
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** Makes a compliance report as a PDF, and saves it. */
async function savePdf(type: string): Promise<string> {
  const path = '/v1/audit/reports/compliance';
  const order = { report_type: type, period: { start: today(), end: today() } };
  type Report = { report_id: string; status: string; download_url: string };
  const { body: ordered } = await user.expect<Report>(202, 'POST', path, order);
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await pause(200)) {
    await sweep(service);
    const { body: report } = await user.get<Report>(`${path}/${ordered.report_id}`);
    if (report.status !== 'completed') continue;
    const { pathname, search } = new URL(report.download_url);
    const answer = await fetch(service.origin + pathname + search);
    const file = join(folder, `${type}.pdf`);
    writeFileSync(file, new Uint8Array(await answer.arrayBuffer()));
    return file;
  }
  throw new Error('the report is not made');
}

/** All that is in a PDF: its bytes, those of its streams, and the text that a reader sees. */
function readPdf(file: string): { bytes: string; streams: string; text: string } {
  const plain = `${file}.plain`;
  runTool('qpdf', '--qdf', '--object-streams=disable', '--decode-level=all', file, plain);
  // Long words break across lines.
  const text = readPdfText(file, '-raw').replace(/\s+/g, '');
  return { bytes: readFileSync(file, 'latin1'), streams: readFileSync(plain, 'latin1'), text };
}

describe('the secret of a connection', () => {
  let connection: string;

  beforeAll(async () => {
    await createConnections();
    const created = await user.expect<{ id: string }>(201, 'POST', '/v1/connections', {
      ...fields({ slug: 'tested' }),
    });
    connection = created.body.id;
    await useConnection(connection);
    await showActs(connection);
  });

  it('is in no output of the command line', async () => {
    await failAround(['connections', 'delete', connection]);
    await run(['connections', 'delete', connection]);
    expect(printed.length).toBeGreaterThan(100);
    // The connection and its acts were shown, and its secret was there to be sent.
    const all = printed.join('\n');
    for (const text of [connection, 'As invoiced', 'The other service answered 500.'])
      expect(all).toContain(text);
    expect(standIn.received.map(({ headers }) => headers.authorization)).toContain(CREDENTIAL);
    expect(printed.filter((text) => SECRET.findIn(text) !== null)).toEqual([]);
  });

  it.runIf(CAN_READ_PDF).each(['soc2_type2', 'gdpr'])(
    'is in no text and no stream of the PDF of a report %s',
    async (type) => {
      const { bytes, streams, text } = readPdf(await savePdf(type));
      for (const content of [bytes, streams, text]) expect(SECRET.findIn(content)).toBeNull();
      // The report is about the agent, and its streams are decoded.
      expect(NAME.findIn(text)).toBe(NAME.text);
      expect(streams).toContain('Compliance report');
      expect(streams.length).toBeGreaterThan(bytes.length);
    },
  );

  it('is found by these searches where it is', async () => {
    await user.expect(200, 'PUT', `/v1/agents/${agent.id}`, { name: SECRET.text });
    const shown = await run(['agents', 'show', agent.id]);
    if (CAN_READ_PDF) shown.push(readPdf(await savePdf('gdpr')).text);
    for (const text of shown) expect(SECRET.findIn(text)).toBe(SECRET.text);
  });
});
