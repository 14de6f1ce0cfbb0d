import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACTIVITY_ACTIONS } from '../../src/db/activity-actions';
import { formatId } from '../../src/lib/typeid';
import { verifyService } from '../../src/packages/verify/verify-service';
import { ROOT } from '../../src/tools/project';
import { answer, FaultyReceiver } from '../support/faulty-receiver';
import { copyProject } from '../support/local/project';
import { Service } from '../support/local/restartable-service';
import { ADMIN_TOKEN, databaseFile, freePort, prepareState } from '../support/local/service';

const DAY = 24 * 60 * 60 * 1_000;
const SPAN = 2 ** 32;
const TILE = 256;
/** The program of `npm run continue-logs`. */
const CONTINUE_LOGS = join(import.meta.dirname, '../../src/tools/continue-logs.ts');

type Json = Record<string, unknown>;

interface Entry {
  id: string;
  agent_id: string;
}

interface Export {
  status: string;
  sha256: string;
  download_url: string;
  proof_url: string | null;
}

interface Owner {
  id: string;
  token: string;
}

interface Agent {
  id: string;
  api_key: string;
}

/**
 * Something that a person did after the restore point, as `npm run recover -- list-undone` prints
 * it.
 */
interface Undone {
  at: string;
  account: string;
  action: string;
  target: string;
}

describe('a service whose database is restored to an earlier time while R2 keeps newer objects', () => {
  const project = mkdtempSync(join(tmpdir(), 'countersign-recovery-'));
  const state = copyProject(project);
  const databases = join(state, 'v3/d1');
  const bookmark = join(state, 'bookmark');
  let service: Service;
  let putBackTo = 0;
  let receiver: FaultyReceiver;

  // Accounts: one with a newer head in R2, one with a newer head that only a customer saw, one
  // whose entries are too old, one that is deleted after the restore point, and one that is created
  // after it.
  let signed: Owner;
  let shown: Owner;
  let brief: Owner;
  let deleted: Owner;
  let later: Owner;
  let keeper: Agent;
  let doomed: Agent;
  let rotated: Agent;
  let shownAgent: Agent;
  let newKey: string;
  let newAgent: Agent;
  let newWebhook: string;
  let token: { token: string; id: string };
  let newToken: string;
  let jwt: string;
  let undone: Undone[] = [];
  let entriesBefore: Entry[];
  /** How many entries of a deleted agent were erased: only their leaves are left, in the tree. */
  let erasedBefore = 0;
  let headBefore: Json;
  /** The newest head in R2, which signs entries that the restore undoes. */
  let lostHead: Json;
  let shownHead: Json;
  let repeated: { key: string; id: string };
  /** An account with a policy that has a budget, and a connection that it approves acts of. */
  let spender: Owner;
  const spent = { key: '', policy: '', connection: '' };
  const exports = { unbegun: '', halfway: '', finished: '', orphan: '' };
  const digests = new Map<string, string>();

  async function call(method: string, path: string, credential: string, body?: Json, headers = {}) {
    const response = await fetch(service.origin + path, {
      method,
      headers: {
        Authorization: `Bearer ${credential}`,
        'Content-Type': 'application/json',
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text ? JSON.parse(text) : null) as never };
  }

  async function ask<T>(
    method: string,
    path: string,
    credential: string,
    body?: Json,
    headers = {},
  ): Promise<T> {
    const { status, body: answered } = await call(method, path, credential, body, headers);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answered)}`);
    return answered;
  }

  const statusOf = async (path: string, credential: string) =>
    (await call('GET', path, credential)).status;

  async function createOwner(plan: string): Promise<Owner> {
    const body = { email: `${plan}@example.com`, plan };
    const { id, token } = await ask<{ id: string; token: { token: string } }>(
      'POST',
      '/v1/admin/users',
      ADMIN_TOKEN,
      body,
    );
    return { id, token: token.token };
  }

  const createAgent = (owner: Owner) =>
    ask<Agent>('POST', '/v1/agents', owner.token, { name: 'Agent' });

  /** Has an agent request a permission for one use and the owner approve it; returns the token. */
  async function work(owner: Owner, { api_key: key }: Agent): Promise<string> {
    const body = { action: 'mail.send', resource: 'box:1', token_ttl: 3_600 };
    const { id } = await ask<{ id: string }>('POST', '/v1/permissions', key, body);
    await ask('POST', `/v1/permissions/${id}/approve`, owner.token, { reason: 'fine' });
    return (await ask<{ token: { value: string } }>('GET', `/v1/permissions/${id}`, key)).token
      .value;
  }

  /** Requests enough permissions for the log to fill a tile. */
  async function fillTile({ api_key: key }: Agent): Promise<void> {
    const body = { action: 'mail.send', resource: 'box:1' };
    const requests = Array.from(
      { length: TILE },
      () => () => ask('POST', '/v1/permissions', key, body),
    );
    const next = async () => {
      for (let request = requests.pop(); request; request = requests.pop()) await request();
    };
    await Promise.all(Array.from({ length: 8 }, next));
  }

  const use = (owner: Owner, value: string) =>
    call('POST', '/v1/tokens/use', owner.token, { token: value });

  async function prepareSpender(): Promise<void> {
    spender = await createOwner('pro');
    const agent = await createAgent(spender);
    type Made = { id: string };
    const policy = await ask<Made>('POST', '/v1/policies', spender.token, {
      ...{ name: 'Payouts', effect: 'approve', actions: ['bank.post'], resources: ['*'] },
      budget: { per: 'total', requests: 9 },
    });
    const connection = await ask<Made>('POST', '/v1/connections', spender.token, {
      ...{ name: 'Bank', slug: 'bank', base_url: `http://127.0.0.1:${receiver.port}/bank` },
      ...{ agent_ids: [agent.id], rules: [{ effect: 'ask' }] },
    });
    Object.assign(spent, {
      key: agent.api_key,
      policy: policy.id,
      connection: `/v1/connections/${connection.id}`,
    });
  }

  const payOut = async (amount: number) =>
    (await call('POST', `${spent.connection}/proxy/${amount}`, spent.key, { amount })).status;

  const payouts = () => ['bank/1', 'bank/2'].map((path) => receiver.sentTo(path).length);

  async function budgetUsed(): Promise<number> {
    type Policy = { usage: { requests: number } };
    const path = `/v1/policies/${spent.policy}`;
    return (await ask<Policy>('GET', path, spender.token)).usage.requests;
  }

  async function startExport(owner: Owner): Promise<string> {
    const body = {
      format: 'json',
      include_details: true,
      start_date: '2020-01-01',
      end_date: '2100-01-01',
    };
    return (await ask<{ export_id: string }>('POST', '/v1/audit/export', owner.token, body))
      .export_id;
  }

  const readExport = (id: string, owner = signed) =>
    ask<Export>('GET', `/v1/audit/export/${id}`, owner.token);

  async function finishExport(id: string, owner = signed): Promise<Export> {
    for (const deadline = Date.now() + 30_000; ; await sleep(100)) {
      const shown = await readExport(id, owner);
      if (shown.status !== 'processing' || Date.now() > deadline) return shown;
    }
  }

  const listEntries = async (owner: Owner) =>
    (await ask<{ data: Entry[] }>('GET', '/v1/audit?order=asc&limit=1000', owner.token)).data;

  const headOf = (owner: Owner) =>
    ask<Json & { tree_size: number }>('GET', '/v1/audit/checkpoint', owner.token);

  const told = (path: string) =>
    receiver.sentTo(path).map(({ headers, body }) => ({
      id: headers['webhook-id'],
      entry: JSON.parse(body).data.id as string,
    }));

  /**
   * The messages that the webhook that failed at first got about each entry of an agent that is not
   * deleted.
   */
  const tellings = () =>
    entriesBefore
      .filter(({ agent_id: agent }) => agent === keeper.id)
      .map(({ id }) => told('failing').filter(({ entry }) => entry === id));

  async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
    for (const deadline = Date.now() + 20_000; !(await holds()) && Date.now() < deadline; )
      await sleep(100);
    expect(await holds()).toBe(true);
  }

  /** Reads or changes the database of a stopped service. */
  function inDatabase<T>(look: (database: DatabaseSync) => T): T {
    const database = new DatabaseSync(databaseFile(state));
    try {
      return look(database);
    } finally {
      database.close();
    }
  }

  function inBucket<T>(look: (database: DatabaseSync) => T): T {
    const folder = join(state, 'v3/r2/miniflare-R2BucketObject');
    const [name = ''] = readdirSync(folder).filter((name) => /^[0-9a-f]+\.sqlite$/.test(name));
    const database = new DatabaseSync(join(folder, name));
    try {
      return look(database);
    } finally {
      database.close();
    }
  }

  const objectsOf = (file: string) =>
    inBucket((bucket) =>
      bucket.prepare('select key from _mf_objects where key like ?').all(`files/${file}/%`),
    ).length;

  /**
   * Runs `npm run continue-logs` for all accounts, or for some; returns its exit code and output.
   */
  async function continueLogs(
    moment: number,
    ...owners: Owner[]
  ): Promise<{ code: number; lines: string[] }> {
    const words = [
      service.origin,
      '00',
      new Date(moment).toISOString(),
      ...owners.map(({ id }) => id),
    ];
    const env = { ...process.env, ADMIN_TOKEN };
    const result = await promisify(execFile)(process.execPath, [CONTINUE_LOGS, ...words], {
      env,
    }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
    );
    return { code: result.code, lines: result.stdout.trim().split('\n') };
  }

  /** Ends the two minutes in which no log is sealed. */
  async function endHold(): Promise<void> {
    await service.stop();
    inDatabase((database) =>
      database.exec('update trees set held_until = 0, due_at = 0 where held_until > 0'),
    );
    await service.start();
  }

  /** The number of R2 objects of an account's tree, by folder. */
  const treeOf = (owner: Owner) =>
    inBucket((bucket) => {
      const keys = bucket
        .prepare('select key from _mf_objects where key like ?')
        .all(`trees/${owner.id}/%`);
      const folders = Object.groupBy(keys, ({ key }) => String(key).split('/')[2] ?? '');
      return Object.fromEntries(
        Object.entries(folders).map(([name, objects = []]) => [name, objects.length]),
      );
    });

  /** The faults that the verifier finds in a log when somebody kept this head. */
  async function verify({ id, token }: Owner, head: Json): Promise<string[]> {
    const checkpoints = join(state, `${id}.jsonl`);
    writeFileSync(checkpoints, `${JSON.stringify(head)}\n`);
    const options = { url: service.origin, token, checkpoints, onProgress: () => undefined };
    const { faults, unchecked } = await verifyService(options);
    return [...faults.map(({ message }) => message), ...unchecked];
  }

  const countEntriesOf = (entries: Entry[], { id }: Agent) =>
    entries.filter(({ agent_id: agent }) => agent === id).length;

  /**
   * The lines of the log about refused trees. A line may come a moment after the answer to the cron
   * that logged it.
   */
  const refusals = () =>
    readFileSync(join(state, 'service.log'), 'utf8')
      .split('\n')
      .filter((line) => line.includes('tree_refused'));

  const numberOf = ({ id }: Owner) =>
    inDatabase((database) => {
      const rows = database.prepare('select number, id from accounts').all();
      return Number(rows.find((row) => formatId('user', row.id as Uint8Array) === id)?.number);
    });

  /**
   * Runs `npm run recover` on the database of a stopped service; returns the lines that it prints.
   */
  async function recover(...words: string[]): Promise<string[]> {
    const program = join(project, 'src/tools/recover.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...words], {
      cwd: project,
    });
    return stdout.trim().split('\n');
  }

  /** Records every kind of activity once, in the order of their codes. */
  const recordEveryAction = (owner: Owner) => {
    const account = numberOf(owner);
    inDatabase((database) => {
      const record = database.prepare(
        `insert into activity (account, id, action, target, changes, ip_address, user_agent, created_at)
         values (?, randomblob(16), ?, 'every action', '[]', '', '', ?)`,
      );
      for (const code of ACTIVITY_ACTIONS.keys()) record.run(account, code, Date.now() + code);
    });
  };

  const countEntries = (owner: Owner) => {
    const number = numberOf(owner);
    return inDatabase((database) =>
      Number(
        database
          .prepare('select count(*) as entries from audit_entries where pos > ? and pos < ?')
          .get(number * SPAN, (number + 1) * SPAN)?.entries,
      ),
    );
  };

  beforeAll(async () => {
    receiver = await FaultyReceiver.start();
    // One database only: the copied wrangler.toml has two.
    cpSync(join(ROOT, 'wrangler.toml'), join(project, 'wrangler.toml'));
    await prepareState(state, ['DB'], project);
    service = new Service(state, await freePort(), project);
    await service.start();
    await doUntilThen();
    await service.stop();
    putBackTo = Date.now();
    keepBookmark();
    await service.start();
    await doAfterwards();
    await service.stop();
    expect(countEntries(brief)).toBe(0);
    recordEveryAction(signed);
    const lines = await recover('list-undone', '00', new Date(putBackTo).toISOString());
    undone = lines.map((line) => JSON.parse(line));
    rmSync(databases, { recursive: true });
    cpSync(bookmark, databases, { recursive: true });
    await service.start();
    await service.triggerCrons();
  });

  afterAll(async () => {
    await service.stop();
    receiver.stop();
    rmSync(project, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  });

  async function doUntilThen(): Promise<void> {
    signed = await createOwner('enterprise');
    shown = await createOwner('pro');
    brief = await createOwner('free');
    deleted = await createOwner('team');
    [keeper, doomed, rotated] = [
      await createAgent(signed),
      await createAgent(signed),
      await createAgent(signed),
    ];
    const agent_ids = [keeper.id, doomed.id];
    for (const path of ['told', 'failing']) {
      const url = `http://127.0.0.1:${receiver.port}/${path}`;
      await ask('POST', '/v1/webhooks', signed.token, { url, agent_ids });
    }
    receiver.faults.set('failing', answer('500 Not now'));
    shownAgent = await createAgent(shown);
    token = await ask('POST', '/v1/me/tokens', signed.token, { name: 'another' });
    const early = await createAgent(signed);
    await work(signed, early);
    erasedBefore = countEntriesOf(await listEntries(signed), early);
    await service.triggerCrons();
    await ask('DELETE', `/v1/agents/${early.id}`, signed.token);
    await work(signed, doomed);
    jwt = await work(signed, keeper);
    await work(shown, shownAgent);
    await work(deleted, await createAgent(deleted));
    await service.triggerCrons();
    exports.finished = await startExport(signed);
    exports.unbegun = await startExport(signed);
    exports.halfway = await startExport(signed);
    for (const id of Object.values(exports))
      if (id) digests.set(id, (await finishExport(id)).sha256);
    entriesBefore = await listEntries(signed);
    await until(
      () =>
        told('told').length === entriesBefore.length + 3 && receiver.sentTo('failing').length > 0,
    );
    headBefore = await headOf(signed);
    await prepareSpender();
    expect(await payOut(1)).toBe(200);
    // Nothing of this account is sealed yet: its entries are moved back by a week below.
    await work(brief, await createAgent(brief));
  }

  /** Copies the database as the restore point; in the copy two exports are still unfinished. */
  function keepBookmark(): void {
    const [old, next] = [numberOf(brief), numberOf(signed)];
    // Removes the account's heads from R2, so that the next head is stored there at once.
    inBucket((bucket) => {
      bucket
        .prepare('delete from _mf_objects where key like ?')
        .run(`trees/${signed.id}/checkpoints/%`);
    });
    inDatabase((database) => {
      database
        .prepare('update audit_entries set created_at = created_at - ? where pos > ? and pos < ?')
        .run(8 * DAY, old * SPAN, (old + 1) * SPAN);
      database.prepare('update accounts set retention_due_at = 0 where number = ?').run(old);
      database.exec('update deliveries set due_at = 0 where due_at is not null');
      database.exec('update receivers set due_at = 0 where due_at is not null');
      database.prepare('update trees set published_size = 0 where account = ?').run(next);
      database.exec('pragma wal_checkpoint(truncate)');
    });
    cpSync(databases, bookmark, { recursive: true });
    const [name = ''] = readdirSync(join(bookmark, 'miniflare-D1DatabaseObject')).filter((name) =>
      /^[0-9a-f]{64}\.sqlite$/.test(name),
    );
    const database = new DatabaseSync(join(bookmark, 'miniflare-D1DatabaseObject', name));
    const inTheMaking = `status = 0, row_count = null, size = null, sha256 = null, proof_size = null, completed_at = null,
      expires_at = null, lease = null, due_at = 0`;
    const rows = database.prepare('select id from files order by id').all();
    const [, unbegun, halfway] = rows.map((row) => row.id as Uint8Array);
    database
      .prepare(`update files set ${inTheMaking}, state = null, upload_id = null where id = ?`)
      .run(unbegun ?? null);
    database
      .prepare(`update files set ${inTheMaking}, state = ?, upload_id = 'of then' where id = ?`)
      .run(`files/${exports.halfway}/state-00`, halfway ?? null);
    database.close();
  }

  /** Does everything that the restore undoes. */
  async function doAfterwards(): Promise<void> {
    receiver.faults.delete('failing');
    expect((await use(signed, jwt)).status).toBe(200);
    await work(signed, keeper);
    await work(shown, shownAgent);
    newAgent = await createAgent(signed);
    await fillTile(newAgent);
    newToken = (
      await ask<{ token: string }>('POST', '/v1/me/tokens', signed.token, { name: 'new' })
    ).token;
    const url = `http://127.0.0.1:${receiver.port}/new`;
    newWebhook = (await ask<{ id: string }>('POST', '/v1/webhooks', signed.token, { url })).id;
    const rotation = { revoke_immediately: true };
    newKey = (
      await ask<Agent>('POST', `/v1/agents/${rotated.id}/rotate-key`, signed.token, rotation)
    ).api_key;
    await ask('DELETE', `/v1/me/tokens/${token.id}`, signed.token);
    later = await createOwner('pro');
    await ask('DELETE', `/v1/admin/users/${deleted.id}`, ADMIN_TOKEN);
    const key = randomUUID();
    const body = { action: 'mail.send', resource: 'box:2' };
    const headers = { 'Idempotency-Key': key };
    const { id } = await ask<{ id: string }>(
      'POST',
      '/v1/permissions',
      keeper.api_key,
      body,
      headers,
    );
    repeated = { key, id };
    await ask('DELETE', `/v1/agents/${doomed.id}`, signed.token);
    await service.triggerCrons();
    lostHead = await headOf(signed);
    exports.orphan = await startExport(signed);
    await finishExport(exports.orphan);
    shownHead = await headOf(shown);
    expect([await payOut(2), await payOut(2), await budgetUsed()]).toEqual([200, 409, 2]);
    await ask('DELETE', spent.connection, spender.token);
    await ask('POST', '/v1/me/stop', spender.token, { reason: 'Something is wrong' });
    await until(async () => {
      await service.triggerCrons();
      return tellings().every(({ length }) => length > 1);
    });
  }

  it('has the agents and entries of the restore point, and nothing that was created later', async () => {
    const agents = await ask<{ data: Agent[] }>('GET', '/v1/agents', signed.token);
    expect(new Set(agents.data.map(({ id }) => id))).toEqual(
      new Set([keeper.id, doomed.id, rotated.id]),
    );
    expect(await listEntries(signed)).toEqual(entriesBefore);
    expect(await statusOf(`/v1/audit/export/${exports.orphan}`, signed.token)).toBe(404);
    expect(await statusOf(`/v1/webhooks/${newWebhook}`, signed.token)).toBe(404);
    expect(await statusOf(`/v1/admin/users/${later.id}`, ADMIN_TOKEN)).toBe(404);
  });

  it('lists before the restore what people did later', () => {
    const done = (action: string, target: string) => ({
      at: expect.any(String),
      account: signed.id,
      action,
      target,
    });
    expect(undone).toEqual(
      expect.arrayContaining([
        done('agent.deleted', doomed.id),
        done('agent.key_rotated', rotated.id),
        done('user_token.deleted', token.id),
      ]),
    );
    expect(undone.every(({ at }) => Date.parse(at) > putBackTo)).toBe(true);
    const everyAction = undone.filter(({ target }) => target === 'every action');
    expect(everyAction.map(({ action }) => action)).toEqual(ACTIVITY_ACTIONS);
  });

  it('signs no new head for a log with a newer head in R2 until its newer objects are set aside', async () => {
    await work(signed, keeper);
    await service.triggerCrons();
    await until(() => refusals().length > 0);
    // Two sweeps at the same time both log it.
    expect(refusals().filter((line) => !line.includes(signed.id))).toEqual([]);
    expect(headBefore.tree_size).toBe(entriesBefore.length + erasedBefore);
    expect(await headOf(signed)).toEqual(lostHead);
    expect(await statusOf(`/v1/audit/${entriesBefore[0]?.id}/proof`, signed.token)).toBe(409);
    expect(await finishExport(await startExport(signed))).toMatchObject({
      status: 'completed',
      proof_url: null,
      proof_error: 'log_refused',
    });
    expect((await verify(signed, headBefore))[0]).toContain('The service itself refuses the log');

    const kept = treeOf(signed);
    const refusedSoFar = refusals().length;
    // A restore point in the future is refused.
    expect((await continueLogs(Date.now() + DAY, signed)).code).toBe(1);
    expect(treeOf(signed)).toEqual(kept);
    expect(await continueLogs(putBackTo)).toEqual({
      code: 0,
      lines: [
        `${signed.id}: 2 objects set aside`,
        expect.stringMatching(/^1 logs continue .+, 4 had nothing .+, 0 could/),
      ],
    });
    expect(kept).toEqual({ checkpoints: 1, tiles: 1 });
    expect(treeOf(signed)).toEqual({ 'set-aside': 2 });
    await endHold();
    // The restore brought the agent's old key back.
    await fillTile(rotated);
    await service.triggerCrons();
    const entries = await listEntries(signed);
    expect((await headOf(signed)).tree_size).toBe(entries.length + erasedBefore);
    expect(await verify(signed, headBefore)).toEqual([]);
    expect(refusals()).toHaveLength(refusedSoFar);
  });

  it('signs a log again whose newer head is not in R2, and a head that a customer kept proves the rewrite', async () => {
    await work(shown, shownAgent);
    await work(shown, shownAgent);
    await service.triggerCrons();
    expect((await headOf(shown)).tree_size).toBeGreaterThan(Number(shownHead.tree_size));
    expect(await verify(shown, shownHead)).toEqual([
      expect.stringContaining('The log was rewritten'),
    ]);
  });

  it('makes unfinished exports again, and leaves objects of unknown exports in R2', async () => {
    for (const id of [exports.unbegun, exports.halfway]) {
      const { status, sha256 } = await finishExport(id);
      expect([id, status, sha256]).toEqual([id, 'completed', digests.get(id)]);
    }
    const { status, download_url } = await readExport(exports.finished);
    expect([status, (await fetch(download_url)).status]).toEqual(['completed', 410]);
    expect(objectsOf(exports.orphan)).toBeGreaterThan(0);
  });

  it('erases entries again that were erased by retention', async () => {
    await service.stop();
    expect(countEntries(brief)).toBe(0);
    await service.start();
  });

  it('sends messages again that are not recorded as sent, with the same id', async () => {
    await until(async () => {
      await service.triggerCrons();
      return tellings().every(({ length }) => length > 2);
    });
    for (const messages of tellings()) expect(new Set(messages.map(({ id }) => id)).size).toBe(1);
    for (const { id } of entriesBefore)
      expect(told('told').filter(({ entry }) => entry === id)).toHaveLength(1);
  });

  it('accepts tokens and idempotency keys again that were used after the restore point', async () => {
    expect((await use(signed, jwt)).status).toBe(200);
    expect((await use(signed, jwt)).status).toBe(409);
    const headers = { 'Idempotency-Key': repeated.key };
    const body = { action: 'mail.send', resource: 'box:2' };
    const again = await ask<{ id: string }>(
      'POST',
      '/v1/permissions',
      keeper.api_key,
      body,
      headers,
    );
    expect(again.id).not.toBe(repeated.id);
  });

  it('sends calls again that were sent after the restore point, by connections and budgets as they were', async () => {
    const ofSpender = undone.filter(({ account }) => account === spender.id);
    const named = ofSpender.map(({ action }) => action);
    expect(named).toEqual(['connection.deleted', 'account.stopped']);
    expect(await budgetUsed()).toBe(1);
    expect([await payOut(1), payouts()]).toEqual([409, [1, 1]]);
    expect([await payOut(2), payouts()]).toEqual([200, [1, 2]]);
    expect(await budgetUsed()).toBe(2);
  });

  it('refuses credentials that were created after the restore point, and accepts those that were deleted after it', async () => {
    for (const credential of [newToken, later.token])
      expect(await statusOf('/v1/me', credential)).toBe(401);
    for (const credential of [token.token, deleted.token])
      expect(await statusOf('/v1/me', credential)).toBe(200);
    for (const credential of [newKey, newAgent.api_key])
      expect(await statusOf('/v1/permissions', credential)).toBe(401);
    for (const credential of [rotated.api_key, doomed.api_key]) {
      expect(await statusOf('/v1/permissions', credential)).toBe(200);
    }
  });

  it('restarts the trees after the bucket is lost', async () => {
    const heads = { signed: await headOf(signed), shown: await headOf(shown) };
    const { download_url: lost } = await finishExport(await startExport(signed));
    const before = refusals().length;
    await service.stop();
    rmSync(join(state, 'v3/r2'), { recursive: true });
    await service.start();
    expect((await fetch(lost)).status).toBe(410);
    const [entry] = entriesBefore;
    expect(await statusOf(`/v1/audit/${entry?.id}/proof`, signed.token)).toBe(409);
    for (const [owner, agent] of [
      [signed, keeper],
      [shown, shownAgent],
    ] as const)
      await work(owner, agent);
    await service.triggerCrons();
    await until(() => refusals().slice(before).join().includes('is gone'));
    await service.stop();
    expect(await recover('restart-trees')).toEqual([
      expect.stringMatching(/^Shard 00: \d+ tree\(s\) start again with the next sweeps\.$/),
    ]);
    await service.start();
    await service.triggerCrons();
    for (const owner of [signed, shown]) {
      expect(await verify(owner, await headOf(owner))).toEqual([]);
    }
    // The new tree has no leaf for an erased entry, so the older head does not match.
    expect(await verify(shown, heads.shown)).toEqual([]);
    expect(await verify(signed, heads.signed)).toEqual([
      expect.stringContaining('The log was rewritten'),
    ]);
    expect((await finishExport(await startExport(signed))).proof_url).toEqual(expect.any(String));
  });
});
