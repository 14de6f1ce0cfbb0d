import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { Mover, type MoverShard } from '../../src/accounts/move/mover';
import { Cost, Database } from '../../src/db/database';
import { FaultyDatabase } from '../support/faults';
import { isMoving, orderMove } from '../support/moves';
import { DATABASES } from '../support/shards';
import { emptyTables } from '../support/tables';
import { type Json, World } from '../support/world';

const ACT = { action: 'payment.send', resource: 'account:4711', scope: { amount: 500 } };

beforeEach(async () => {
  for (const database of Object.values(DATABASES)) {
    await database.exec('delete from moves');
    await emptyTables(database);
  }
});

async function makeAgent(world = new World(), fields: object = {}) {
  const account = await world.account({ ...fields });
  return { world, account, agent: await account.agent() };
}

/** Canonical JSON (RFC 8785), written independently of the service. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const units = (text: string) => Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
    const compare = (a: string, b: string) => {
      const [x, y] = [units(a), units(b)];
      for (let i = 0; i < Math.min(x.length, y.length); i++) if (x[i] !== y[i]) return (x[i] ?? 0) - (y[i] ?? 0);
      return x.length - y.length;
    };
    return `{${Object.keys(value)
      .sort(compare)
      .map((name) => `${text(name)}:${canonical(value[name])}`)
      .join(',')}}`;
  }
  if (typeof value === 'string') return text(value);
  return value === null ? 'null' : Object.is(value, -0) ? '0' : String(value);
}

function text(value: string): string {
  const short: Record<string, string> = { '\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r', '"': '"', '\\': '\\' };
  let out = '"';
  for (let i = 0; i < value.length; i++) {
    const char = value[i] as string;
    const code = value.charCodeAt(i);
    if (short[char]) out += `\\${short[char]}`;
    else out += code < 0x20 ? `\\u${code.toString(16).padStart(4, '0')}` : char;
  }
  return `${out}"`;
}

async function digestOf(canonicalText: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonicalText)));
  return `sha-256:${hash.toBase64({ alphabet: 'base64url', omitPadding: true })}`;
}

const JSON_HEADERS = { 'Content-Type': 'application/json' };

describe('the digest of RFC 8785, compared with a second implementation', () => {
  it.each([
    ['1e21', '1e+21'],
    ['5e-324', '5e-324'],
    ['-0', '0'],
    ['-0.0e7', '0'],
    ['333333333.33333329', '333333333.3333333'],
    ['1E30', '1e+30'],
    ['4.50', '4.5'],
    ['2e-3', '0.002'],
    ['0.000000000000000000000000001', '1e-27'],
    ['1e-7', '1e-7'],
    ['0.000001', '0.000001'],
    ['999999999999999900000', '999999999999999900000'],
    ['"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/"', '"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'],
    ['"\\u007f\\u2028\\u2029\\u0000"', '"\u007f\u2028\u2029\\u0000"'],
    [
      '{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"\\u00f6":7}',
      '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}',
    ],
    ['{"10":1,"9":2,"":3,"a":4,"A":5}', '{"":3,"10":1,"9":2,"A":5,"a":4}'],
    ['{"__proto__":{"a":1},"constructor":1,"toJSON":2}', '{"__proto__":{"a":1},"constructor":1,"toJSON":2}'],
    ['{"a":1,"a":2}', '{"a":2}'],
  ])('of %s is %s', async (raw, form) => {
    const { world, agent } = await makeAgent();
    const body = `{"action":"a.b","resource":"c:d","input":${raw}}`;
    const answer = await world.call('POST', '/v1/permissions', { token: agent.key, raw: body, headers: JSON_HEADERS });
    expect(answer.status).toBe(201);
    expect(answer.body.input_digest).toBe(await digestOf(form));
    const read = await agent.must(200, 'GET', `/v1/permissions/${answer.body.id}`);
    expect(canonical(read.body.input)).toBe(form);
    expect(read.text).toBe(answer.text);
  });

  it('is that of the preview as it was sent', async () => {
    const { agent } = await makeAgent();
    const preview = { title: ' a\u202e', fields: [{ value: 'x', label: '' }], summary: '' };
    const asked = await agent.request({ preview });
    expect(asked.preview_digest).toBe(await digestOf(canonical(preview)));
  });
});

describe('a request', () => {
  it.each([
    '{"title":"a","__proto__":{"x":1}}',
    '{"title":"a","fields":[{"label":"a","value":"b","__proto__":"x"}]}',
    '{"title":"a","blocks":[{"kind":"text","text":"b","__proto__":"x"}]}',
    '{"title":"a","constructor":"x"}',
    '{"title":"a","fields":[{"label":"a","value":"b","toString":"x"}]}',
  ])('is refused for unknown fields of its preview: %s', async (preview) => {
    const { world, agent } = await makeAgent();
    const raw = `{"action":"a.b","resource":"c:d","preview":${preview}}`;
    const answer = await world.call('POST', '/v1/permissions', { token: agent.key, raw, headers: JSON_HEADERS });
    expect([answer.status, answer.text.slice(0, 300)]).toEqual([400, expect.anything()]);
  });

  it('is refused for an unknown field __proto__', async () => {
    const { world, agent } = await makeAgent();
    const raw = '{"action":"a.b","resource":"c:d","__proto__":{"input":1}}';
    expect((await world.call('POST', '/v1/permissions', { token: agent.key, raw, headers: JSON_HEADERS })).status).toBe(
      400,
    );
  });

  it('is limited by the UTF-8 bytes of its input and preview as compact JSON', async () => {
    const { agent } = await makeAgent();
    for (const [char, width] of [
      ['é', 2],
      ['€', 3],
      ['😀', 4],
      ['\u0001', 6],
      ['"', 2],
    ] as const) {
      const room = Math.floor((16 * 1024 - 2) / width);
      await agent.must(201, 'POST', '/v1/permissions', { ...ACT, input: char.repeat(room) });
      await agent.must(400, 'POST', '/v1/permissions', { ...ACT, input: char.repeat(room + 1) });
      const preview = { title: 'a', summary: char.repeat(room) };
      await agent.must(400, 'POST', '/v1/permissions', { ...ACT, preview });
    }
  });
});

describe('a request with an external id', () => {
  const ASKED = { ...ACT, input: { a: 1 }, external_id: 'call-1' };

  it('is answered 200 if the concurrent request that comes first takes the last place of the quota', async () => {
    const database = new FaultyDatabase(env.DB);
    const { world, agent } = await makeAgent(new World({ DB: database.binding }));
    const rival = new World();
    rival.now = world.now;
    await agent.request();
    await env.DB.exec('update pending_permissions set count = 999');
    let first: Json;
    database.before(2, async () => {
      first = await rival.call('POST', '/v1/permissions', { token: agent.key, body: ASKED });
    });
    const second = await agent.call('POST', '/v1/permissions', ASKED);
    expect(first.status).toBe(201);
    expect([second.status, second.body.id]).toEqual([200, first.body.id]);
  });

  it('is answered 200 for an existing request while the quota is reached', async () => {
    const { agent } = await makeAgent();
    await agent.must(201, 'POST', '/v1/permissions', ASKED);
    await env.DB.exec('update pending_permissions set count = 1000');
    await agent.must(200, 'POST', '/v1/permissions', ASKED);
    await agent.must(409, 'POST', '/v1/permissions', ACT);
  });

  it.each([
    ['whose key is revoked', 401, 'key'],
    ['that is switched off', 403, 'off'],
    ['that is deleted', 401, 'delete'],
  ] as const)('gives no token to an agent %s between the first and the third trip', async (_, status, how) => {
    const database = new FaultyDatabase(env.DB);
    const { world, account, agent } = await makeAgent(new World({ DB: database.binding }));
    const rival = new World();
    rival.now = world.now;
    const byUser = (method: string, path: string, body?: unknown) =>
      rival.call(method, path, { token: account.token, ...(body !== undefined && { body }) });
    database.before(2, async () => {
      const { body } = await rival.call('POST', '/v1/permissions', { token: agent.key, body: ASKED });
      await byUser('POST', `/v1/permissions/${body.id}/approve`);
      if (how === 'key') await byUser('POST', `/v1/agents/${agent.id}/rotate-key`, { revoke_immediately: true });
      if (how === 'off') await byUser('PUT', `/v1/agents/${agent.id}`, { is_active: false });
      if (how === 'delete') await byUser('DELETE', `/v1/agents/${agent.id}`);
    });
    const second = await agent.call('POST', '/v1/permissions', ASKED);
    expect([second.status, second.body.token?.value ?? second.body.code]).toEqual([
      status,
      expect.not.stringMatching(/^ey/),
    ]);
  });

  it('is answered 409 for the loser of two concurrent requests with different bodies, whatever their idempotency keys', async () => {
    for (const headers of [{}, { 'Idempotency-Key': 'k' }]) {
      const database = new FaultyDatabase(env.DB);
      const { world, account, agent } = await makeAgent(new World({ DB: database.binding }));
      const rival = new World();
      rival.now = world.now;
      database.before(2, async () => {
        await rival.must(201, 'POST', '/v1/permissions', { token: agent.key, body: { ...ASKED, input: 2 } });
      });
      const second = await world.call('POST', '/v1/permissions', { token: agent.key, body: ASKED, headers });
      expect([second.status, second.body.code]).toEqual([409, 'external_id_conflict']);
      // The key stays free, also for another body.
      const third = await world.call('POST', '/v1/permissions', {
        token: agent.key,
        body: { ...ASKED, external_id: 'other' },
        headers,
      });
      expect(third.status).toBe(201);
      expect(await account.log()).toHaveLength(2);
    }
  });

  it('and an idempotency key makes one permission when it is sent many times at the same time', async () => {
    const { world, account, agent } = await makeAgent();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        world.call('POST', '/v1/permissions', {
          token: agent.key,
          body: ASKED,
          headers: { 'Idempotency-Key': `k-${i % 2}` },
        }),
      ),
    );
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await account.log()).toHaveLength(1);
  });

  it('is found by a filter of lists, whose cursors are bound to it', async () => {
    const { world, account } = await makeAgent();
    for (let i = 0; i < 5; i++) {
      await (await account.agent()).must(201, 'POST', '/v1/permissions', ASKED);
      world.advance(1);
    }
    const seen = [];
    let cursor = '';
    do {
      const { body } = await account.must(200, 'GET', `/v1/permissions?external_id=call-1&limit=2${cursor}`);
      seen.push(...body.data.map(({ id }: Json) => id));
      if (cursor === '') {
        await account.must(400, 'GET', `/v1/permissions?limit=2&cursor=${body.next_cursor}`);
        await account.must(400, 'GET', `/v1/permissions?external_id=call-2&limit=2&cursor=${body.next_cursor}`);
      }
      cursor = body.next_cursor ? `&cursor=${body.next_cursor}` : '';
    } while (cursor);
    expect(seen).toHaveLength(5);
    expect(new Set(seen).size).toBe(5);
  });

  it('is of no use to an inactive agent', async () => {
    const { account, agent } = await makeAgent();
    await agent.must(201, 'POST', '/v1/permissions', ASKED);
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { is_active: false });
    await agent.must(403, 'POST', '/v1/permissions', ASKED);
  });
});

describe('a token bound to an input', () => {
  it('can be used even if action, resource and scope have their largest sizes', async () => {
    const { account, agent } = await makeAgent();
    const resource = `k:${'\u0001'.repeat(510)}`;
    const action = `a.${'b'.repeat(126)}`;
    const scope = { a: '\u0001'.repeat(339) };
    const { token, input_digest } = await agent.approved({ action, resource, scope, input: 1 });
    expect(token.value.length).toBeLessThan(16_384);
    await account.must(200, 'POST', '/v1/tokens/use', { token: token.value, input_digest });
  });
});

describe('inputs, external ids and withdrawals', () => {
  it('a use without the digest is told to send it', async () => {
    const { account, agent } = await makeAgent();
    const { token } = await agent.approved({ ...ACT, input: 1 });
    const { body } = await account.must(409, 'POST', '/v1/tokens/use', { token: token.value });
    expect(body.detail).toContain('input_digest');
  });

  it('a request that races with a move shows the permission as it is on the new shard, or 503', async () => {
    const database = new FaultyDatabase(env.DB);
    const { world, account, agent } = await makeAgent(new World({ DB: database.binding, DB_01: env.DB_01 }));
    const rival = new World({ DB_01: env.DB_01 });
    rival.now = world.now;
    const ASKED = { ...ACT, input: 1, external_id: 'x' };
    let denied: Json;
    database.before(2, async () => {
      const { body } = await rival.must(201, 'POST', '/v1/permissions', { token: agent.key, body: ASKED });
      await orderMove(rival, account.id, '01');
      const shards = ['00', '01'].map((name) => ({
        name,
        database: new Database(DATABASES[name] as D1Database, new Cost()),
      }));
      const mover = new Mover(shards[0] as MoverShard, shards);
      for (let n = 0; n < 100 && (await isMoving()); n++) await mover.moveSlice(rival.now);
      denied = (await rival.must(200, 'POST', `/v1/permissions/${body.id}/deny`, { token: account.token })).body;
    });
    const { status, body } = await agent.call('POST', '/v1/permissions', ASKED);
    expect(denied.status).toBe('denied');
    expect(status === 503 || body.status === 'denied').toBe(true);
  });

  it('a request with an external id is refused for every other caller', async () => {
    const { world, account, agent } = await makeAgent();
    const body = { ...ACT, external_id: 'x' };
    const { id } = (await agent.must(201, 'POST', '/v1/permissions', body)).body;
    expect((await account.call('POST', '/v1/permissions', body)).body.code).toBe('wrong_credential');
    expect((await world.call('POST', '/v1/permissions', { body })).status).toBe(401);
    expect((await world.call('POST', '/v1/permissions', { token: world.env.ADMIN_TOKEN ?? '', body })).status).toBe(
      403,
    );
    const raw = '{"external_id":"x"';
    expect((await world.call('POST', '/v1/permissions', { raw, headers: JSON_HEADERS })).status).toBe(401);
    for (const raw of ['{"external_id":"x"', '[]', 'null', '{"external_id":["x"]}', '{"external_id":"x\\u0000"}']) {
      const answer = await world.call('POST', '/v1/permissions', { token: agent.key, raw, headers: JSON_HEADERS });
      expect(answer.status).toBe(400);
    }
    const stranger = await (await world.account()).agent();
    expect((await stranger.must(201, 'POST', '/v1/permissions', body)).body.id).not.toBe(id);
    expect((await stranger.must(200, 'GET', '/v1/permissions?external_id=x')).body.data).toHaveLength(1);
    await stranger.must(404, 'GET', `/v1/permissions/${id}`);
  });

  it('the answer 200 to a repeated request has the headers of an authenticated answer', async () => {
    const { agent } = await makeAgent();
    const body = { ...ACT, external_id: '~!"#%&+/?\\' };
    await agent.must(201, 'POST', '/v1/permissions', body);
    const { headers } = await agent.must(200, 'POST', '/v1/permissions', body);
    expect([headers.get('Cache-Control'), headers.get('Location'), headers.get('Idempotent-Replayed')]).toEqual([
      'no-store',
      null,
      null,
    ]);
    expect(headers.get('X-Request-Id')).toMatch(/^req_/);
    const filter = encodeURIComponent(body.external_id);
    expect((await agent.must(200, 'GET', `/v1/permissions?external_id=${filter}`)).body.data).toHaveLength(1);
    for (const odd of ['', '%00', '%20', 'x'.repeat(300)]) {
      const { status, body } = await agent.call('GET', `/v1/permissions?external_id=${odd}`);
      expect([200, 400]).toContain(status);
      if (status === 200) expect(body.data).toEqual([]);
    }
  });

  it('a request whose agent is deleted before the commit leaves no contents', async () => {
    const database = new FaultyDatabase(env.DB);
    const { world, account, agent } = await makeAgent(new World({ DB: database.binding }));
    const rival = new World();
    rival.now = world.now;
    database.before(2, () => rival.call('DELETE', `/v1/agents/${agent.id}`, { token: account.token }));
    const { status } = await agent.call('POST', '/v1/permissions', {
      ...ACT,
      input: 1,
      preview: { title: 'a' },
      external_id: 'x',
    });
    expect(status).toBe(401);
    expect(await env.DB.prepare('select count(*) as n from permission_contents').first('n')).toBe(0);
  });

  it('an export with details contains the digests, but neither input nor preview', async () => {
    const { world, account, agent } = await makeAgent();
    await agent.approved({
      ...ACT,
      input: { s: 'SECRETIN' },
      preview: { title: 'SECRETPRE' },
      external_id: 'SECRETEXT',
    });
    const { body } = await account.must(202, 'POST', '/v1/audit/export', {
      format: 'json',
      include_details: true,
      start_date: '2026-01-01',
      end_date: '2026-02-02',
    });
    await world.work();
    const done = (await account.must(200, 'GET', `/v1/audit/export/${body.export_id ?? body.id}`)).body;
    expect(done.status).toBe('completed');
    const url = new URL(done.download_url);
    const file = await world.call('GET', url.pathname + url.search);
    expect(file.text).toContain('input_digest');
    expect(file.text).not.toMatch(/SECRET/);
    const log = await account.must(200, 'GET', '/v1/audit');
    expect(log.text).not.toMatch(/SECRET/);
    const activity = await account.must(200, 'GET', '/v1/activity');
    expect(activity.text).not.toMatch(/SECRET/);
    const dump: string[] = [];
    for (const name of ['stored_answers', 'audit_entries', 'deliveries']) {
      dump.push(JSON.stringify((await env.DB.prepare(`select * from ${name}`).all()).results));
    }
    expect(dump.join()).not.toMatch(/SECRET/);
  });

  it('a report does not count a withdrawn request as one that nobody decided in time', async () => {
    const { world, account, agent } = await makeAgent(new World(), { plan: 'enterprise' });
    const { id } = await agent.request();
    await agent.must(200, 'POST', `/v1/permissions/${id}/withdraw`);
    const { body } = await account.must(202, 'POST', '/v1/audit/reports/compliance', {
      report_type: 'soc2_type2',
      period: { start: '2026-01-31', end: '2026-01-31' },
      format: 'json',
    });
    await world.work();
    const done = (await account.must(200, 'GET', `/v1/audit/reports/compliance/${body.report_id}`)).body;
    const url = new URL(done.download_url);
    const report = (await world.call('GET', url.pathname + url.search)).body;
    expect(report.exceptions.map(({ kind }: Json) => kind)).not.toContain('request_undecided');
  });

  it('a withdrawal is replayed by its idempotency key, also after the permission is gone', async () => {
    const { world, account, agent } = await makeAgent();
    const { id } = await agent.request({ input: 1 });
    const send = () =>
      world.call('POST', `/v1/permissions/${id}/withdraw`, { token: agent.key, headers: { 'Idempotency-Key': 'w' } });
    const [first, second] = [await send(), await send()];
    expect([first.status, second.status, second.text]).toEqual([200, 200, first.text]);
    expect(await account.log()).toHaveLength(2);
    for (const raw of ['{"x":1}', 'null', '[]']) {
      const answer = await world.call('POST', `/v1/permissions/${id}/withdraw`, {
        token: agent.key,
        raw,
        headers: JSON_HEADERS,
      });
      expect(answer.status).toBe(400);
    }
    await agent.must(404, 'POST', '/v1/permissions/perm_x/withdraw');
  });

  it('a request with the digest alone shows no input, and is found by the same request with its input', async () => {
    const { agent } = await makeAgent();
    const input_digest = await digestOf('{"a":1}');
    const first = await agent.must(201, 'POST', '/v1/permissions', { ...ACT, input_digest, external_id: 'x' });
    const second = await agent.must(200, 'POST', '/v1/permissions', { ...ACT, input: { a: 1 }, external_id: 'x' });
    expect(second.text).toBe(first.text);
    await agent.must(409, 'POST', '/v1/permissions', { ...ACT, external_id: 'x' });
    await agent.must(409, 'POST', '/v1/permissions', { ...ACT, input: null, external_id: 'x' });
  });

  it('a use is a mismatch for every other digest, and for none', async () => {
    const { account, agent } = await makeAgent();
    const nothing = await agent.approved({ ...ACT, input: null });
    expect(nothing.input_digest).toBe(await digestOf('null'));
    const use = async (token: string, more: object) => {
      const { status, body } = await account.call('POST', '/v1/tokens/use', { token, ...more });
      return body.reason ?? status;
    };
    expect(await use(nothing.token.value, {})).toBe('mismatch');
    expect(await use(nothing.token.value, { input_digest: null })).toBe(400);
    expect(await use(nothing.token.value, { input_digest: ` ${nothing.input_digest}` })).toBe('mismatch');
    expect(await use(nothing.token.value, { input_digest: nothing.input_digest.slice(0, -1) })).toBe('mismatch');
    expect(await use(nothing.token.value, { input_digest: nothing.input_digest })).toBe(200);
  });
});
