import { env } from 'cloudflare:test';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { idBytes } from '../../src/lib/typeid';
import { FaultyDatabase } from '../support/faults';
import { World } from '../support/world';

const ACT = { action: 'payment.send', resource: 'account:4711', scope: { amount: 500, to: ['a', 'b'] } };
const INPUT = { to: 'DE89 3704', amount: 120.5, lines: [1, 2e21, null, true], é: '\u0000 \ud83d\ude00' };
const PREVIEW = {
  title: 'Pay invoice 118',
  summary: ' Not trimmed ',
  fields: [
    { label: 'Amount', value: '120.50 EUR', kind: 'money' },
    { label: 'To', value: 'Ada' },
  ],
  blocks: [{ title: 'Invoice', kind: 'json', text: '{"no": 118}' }],
};

async function makeAgent(world = new World()) {
  const account = await world.account();
  return { world, account, agent: await account.agent() };
}

/** The digest of the contract, made without the service's code. */
async function digestOf(value: unknown): Promise<string> {
  const text = new TextEncoder().encode(canonicalize(value));
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', text));
  const base64 = btoa(String.fromCharCode(...hash));
  return `sha-256:${base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

describe('a request with input and preview', () => {
  it('shows both, their digests and the title when it is created and when it is read', async () => {
    const { account, agent } = await makeAgent();
    const asked = await agent.request({ ...ACT, input: INPUT, preview: PREVIEW, external_id: 'call-1' });
    expect(asked).toMatchObject({
      title: PREVIEW.title,
      input: INPUT,
      preview: PREVIEW,
      input_digest: await digestOf(INPUT),
      preview_digest: await digestOf(PREVIEW),
      external_id: 'call-1',
    });
    for (const caller of [agent, account]) {
      expect((await caller.must(200, 'GET', `/v1/permissions/${asked.id}`)).body).toEqual(asked);
    }
  });

  it('writes at most two rows more than without, in two round trips', async () => {
    const { agent } = await makeAgent();
    // The first request of an agent also writes its statistics and the marks of the account.
    await agent.request(ACT);
    const plain = await agent.must(201, 'POST', '/v1/permissions', ACT);
    const full = { ...ACT, input: INPUT, preview: PREVIEW, external_id: 'call-1' };
    const { cost } = await agent.must(201, 'POST', '/v1/permissions', full);
    expect([cost.trips, cost.written - plain.cost.written]).toEqual([2, 2]);
  });

  it('shows the digests alone in lists and decisions', async () => {
    const { account, agent } = await makeAgent();
    const { id, input, preview, ...asked } = await agent.request({ ...ACT, input: INPUT, preview: PREVIEW });
    const { body: list } = await account.must(200, 'GET', '/v1/permissions');
    expect(list.data).toEqual([{ id, ...asked }]);
    const { body: decided } = await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
    expect(decided.input_digest).toBe(asked.input_digest);
    expect(Object.keys(decided)).not.toContain('input');
    expect(input).toEqual(INPUT);
    expect(preview).toEqual(PREVIEW);
  });

  it('has both digests in the entries of the request and the decision, and null where there is none', async () => {
    const { account, agent } = await makeAgent();
    const digests = { input_digest: await digestOf(INPUT), preview_digest: await digestOf(PREVIEW) };
    const approved = await agent.approved({ ...ACT, input: INPUT, preview: PREVIEW, max_uses: 1 });
    await account.must(200, 'POST', '/v1/tokens/use', {
      token: approved.token.value,
      input_digest: digests.input_digest,
    });
    const denied = await agent.request({ ...ACT, preview: PREVIEW });
    await account.must(200, 'POST', `/v1/permissions/${denied.id}/deny`);
    await agent.request(ACT);
    const log = await account.log();
    const shown = log.map(({ event_type, details }) => [event_type, details.input_digest, details.preview_digest]);
    expect(shown).toEqual([
      ['request', digests.input_digest, digests.preview_digest],
      ['approve', digests.input_digest, digests.preview_digest],
      ['use', undefined, undefined],
      ['request', null, digests.preview_digest],
      ['deny', null, digests.preview_digest],
      ['request', null, null],
    ]);
  });

  it('has both digests in the entries of a decision by policy', async () => {
    const { account, agent } = await makeAgent();
    const policy = { name: 'All', effect: 'approve', actions: ['*'], resources: ['*'], conditions: {} };
    await account.must(201, 'POST', '/v1/policies', policy);
    await agent.request({ action: 'a.b', resource: 'c:d', input: INPUT });
    const [request, approval] = await account.log();
    expect(approval.event_type).toBe('approve');
    for (const { details } of [request, approval]) expect(details.input_digest).toBe(await digestOf(INPUT));
  });

  it('keeps every JSON value unchanged, null too', async () => {
    const { agent } = await makeAgent();
    const values = [null, false, 0, -0, '', [], {}, ' x ', [[[]]], { '': 1 }, '\u0000', '\u202e', 1e308, 5e-324];
    for (const input of values) {
      const asked = await agent.request({ ...ACT, input });
      expect(JSON.stringify(asked.input)).toBe(JSON.stringify(input));
      expect(asked.input_digest).toBe(await digestOf(input));
    }
  });

  it('takes the digest alone, and with its input if they agree', async () => {
    const { agent } = await makeAgent();
    const input_digest = await digestOf(INPUT);
    const priv = await agent.request({ ...ACT, input_digest });
    expect([priv.input, priv.input_digest]).toEqual([null, input_digest]);
    expect((await agent.request({ ...ACT, input: INPUT, input_digest })).input_digest).toBe(input_digest);
    const { body } = await agent.must(400, 'POST', '/v1/permissions', { ...ACT, input: {}, input_digest });
    expect(body.errors).toEqual([{ path: 'body.input_digest', message: 'is not the digest of `input`' }]);
  });

  const big = 'x'.repeat(16 * 1024 - 2);
  it.each<[string, object]>([
    ['input', { input: `${big}x` }],
    ['input', { input: ['\ud800'] }],
    ['input', { input: { '\udfff': 1 } }],
    ['input_digest', { input_digest: '' }],
    ['input_digest', { input_digest: `sha-256:${'A'.repeat(42)}B` }],
    ['input_digest', { input_digest: `sha-512:${'A'.repeat(43)}` }],
    ['preview.title', { preview: {} }],
    ['preview.title', { preview: { title: ' ' } }],
    ['preview.title', { preview: { title: 'a\u0000' } }],
    ...['\u200b', '\u2060', '\u2800', '\u00ad', '\u202e\u202c', '\u0001', '\u3164'].map((title): [string, object] => [
      'preview.title',
      { preview: { title } },
    ]),
    ['preview', { preview: { title: big } }],
    ['preview', { preview: null }],
    ['preview.fields', { preview: { title: 'a', fields: Array(51).fill({ label: 'a', value: 'b' }) } }],
    ['preview.fields.0.kind', { preview: { title: 'a', fields: [{ label: 'a', value: 'b', kind: 'html' }] } }],
    ['preview.blocks', { preview: { title: 'a', blocks: Array(11).fill({ kind: 'text', text: 'b' }) } }],
    ['preview.blocks.0.text', { preview: { title: 'a', blocks: [{ kind: 'code' }] } }],
    ['preview.html', { preview: { title: 'a', html: '<b>' } }],
    ['external_id', { external_id: '' }],
    ['external_id', { external_id: 'a b' }],
    ['external_id', { external_id: 'x'.repeat(256) }],
    ['external_id', { external_id: 'é' }],
  ])('is refused, and names the field %s', async (path, fields) => {
    const { account, agent } = await makeAgent();
    const { body } = await agent.must(400, 'POST', '/v1/permissions', { ...ACT, ...fields });
    expect(body.errors.map((error: { path: string }) => error.path)).toContain(`body.${path}`);
    expect(await account.log()).toEqual([]);
  });

  it('takes input and preview up to their limits', async () => {
    const { agent } = await makeAgent();
    const fields = Array(50).fill({ label: 'a', value: 'b', kind: 'text' });
    const blocks = Array(10).fill({ kind: 'diff', text: '+b' });
    await agent.request({ ...ACT, input: big, preview: { title: 'a', fields, blocks } });
  });

  it.each(['9007199254740993', '{"amount": [-9007199254740993]}', '[1, 100000000000000000001]'])(
    'refuses %s, which a double cannot hold',
    async (input) => {
      const { world, agent } = await makeAgent();
      const raw = `{"action": "a.b", "resource": "c:d", "input": ${input}}`;
      const headers = { 'Content-Type': 'application/json' };
      const { status, body } = await world.call('POST', '/v1/permissions', { token: agent.key, raw, headers });
      expect([status, body.errors?.[0].path]).toEqual([400, 'body.input']);
    },
  );

  it.each(['9007199254740992', '9007199254740994', '295147905179352830000', '0.1', '333333333.33333329', '-0', '1e21'])(
    'takes %s',
    async (input) => {
      const { world, agent } = await makeAgent();
      const raw = `{"action": "a.b", "resource": "c:d", "scope": {"n": 9007199254740993}, "input": [${input}]}`;
      const headers = { 'Content-Type': 'application/json' };
      const { status } = await world.call('POST', '/v1/permissions', { token: agent.key, raw, headers });
      expect(status).toBe(201);
    },
  );

  it('refuses a number beyond the range of a double', async () => {
    const { world, agent } = await makeAgent();
    const raw = '{"action": "a.b", "resource": "c:d", "input": [1e999]}';
    const headers = { 'Content-Type': 'application/json' };
    const { status, body } = await world.call('POST', '/v1/permissions', { token: agent.key, raw, headers });
    expect([status, body.errors]).toEqual([400, [{ path: 'body.input', message: 'a number is out of range' }]]);
  });
});

describe('the digest', () => {
  it('is that of RFC 8785 for random values, in any order of names', async () => {
    const { agent } = await makeAgent();
    const values = fc.sample(fc.jsonValue({ maxDepth: 3, noUnicodeString: false }), { numRuns: 20, seed: 1 });
    for (const value of values) {
      const { input_digest } = await agent.request({ ...ACT, input: value });
      expect(input_digest).toBe(await digestOf(JSON.parse(JSON.stringify(value))));
    }
    const [one, other] = [
      await agent.request({ ...ACT, input: { a: 1, b: { c: 2, d: 3 } } }),
      await agent.request({ ...ACT, input: { b: { d: 3, c: 2 }, a: 1 } }),
    ];
    expect(one.input_digest).toBe(other.input_digest);
  });
});

describe('a token of a permission with a digest', () => {
  async function approve(fields: object) {
    const { account, agent } = await makeAgent();
    const { token } = await agent.approved({ ...ACT, ...fields, max_uses: 5 });
    const use = async (more: object) => {
      const { status, body } = await account.call('POST', '/v1/tokens/use', { token: token.value, ...more });
      return status === 200 ? 'used' : body.reason;
    };
    return { account, token: token.value as string, use };
  }

  it('is used only with that digest', async () => {
    const { use } = await approve({ input: INPUT });
    expect(await use({ input_digest: await digestOf(INPUT) })).toBe('used');
    expect(await use({ input_digest: await digestOf({ ...INPUT, amount: 121 }) })).toBe('mismatch');
    expect(await use({ input_digest: '' })).toBe('mismatch');
    expect(await use({})).toBe('mismatch');
  });

  it('is used without a digest if the permission has none', async () => {
    const { use } = await approve({});
    expect(await use({ input_digest: await digestOf(INPUT) })).toBe('mismatch');
    expect(await use({})).toBe('used');
  });

  it('states the digest in its claims and its introspection', async () => {
    const { account, token } = await approve({ input: INPUT });
    const input_digest = await digestOf(INPUT);
    const claims = JSON.parse(atob((token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')));
    expect(claims.authorization_details[0].input_digest).toBe(input_digest);
    const { body } = await account.must(200, 'POST', '/v1/tokens/introspect', { token });
    expect(body.authorization_details[0].input_digest).toBe(input_digest);
  });
});

describe('an external id', () => {
  const ASKED = { ...ACT, input: INPUT, preview: PREVIEW, external_id: 'call-1' };

  it('returns the existing permission in two round trips, and writes nothing', async () => {
    const { account, agent } = await makeAgent();
    const first = await agent.must(201, 'POST', '/v1/permissions', ASKED);
    const again = { ...ASKED, preview: { title: 'Other' }, token_ttl: 30, scope: { to: ['a', 'b'], amount: 500 } };
    const second = await agent.call('POST', '/v1/permissions', again);
    expect([second.status, second.headers.get('Location'), second.body]).toEqual([200, null, first.body]);
    expect(second.cost).toMatchObject({ trips: 1, written: 0 });
    expect(await account.log()).toHaveLength(1);
  });

  it('returns the decision with the token, days later and without the idempotency key', async () => {
    const { world, account, agent } = await makeAgent();
    const { body: asked } = await agent.must(201, 'POST', '/v1/permissions', {
      ...ASKED,
      token_ttl: 604_800,
      expires_in: 604_800,
    });
    await account.must(200, 'POST', `/v1/permissions/${asked.id}/approve`);
    world.advance(3 * 86_400_000);
    const { body } = await agent.must(200, 'POST', '/v1/permissions', ASKED);
    const { body: read } = await agent.must(200, 'GET', `/v1/permissions/${asked.id}`);
    expect(body).toEqual(read);
    expect(body.token.value).toMatch(/^ey/);
  });

  it.each<[string, object]>([
    ['action', { action: 'payment.plan' }],
    ['resource', { resource: 'account:1' }],
    ['scope', { scope: { amount: 501, to: ['a', 'b'] } }],
    ['order of a list', { scope: { amount: 500, to: ['b', 'a'] } }],
    ['input', { input: { ...INPUT, amount: 1 } }],
    ['absence of the input', { input: undefined }],
  ])('refuses a request that differs in its %s', async (_, fields) => {
    const { account, agent } = await makeAgent();
    await agent.must(201, 'POST', '/v1/permissions', ASKED);
    const { body } = await agent.must(409, 'POST', '/v1/permissions', { ...ASKED, ...fields });
    expect(body.code).toBe('external_id_conflict');
    expect(await account.log()).toHaveLength(1);
  });

  it('belongs to one agent, and filters lists', async () => {
    const { world, account, agent } = await makeAgent();
    const other = await account.agent();
    const ids = [];
    for (const one of [agent, other]) {
      ids.push((await one.must(201, 'POST', '/v1/permissions', ASKED)).body.id);
      world.advance(1);
    }
    expect(ids[0]).not.toBe(ids[1]);
    const { body: all } = await account.must(200, 'GET', '/v1/permissions?external_id=call-1');
    expect(all.data.map(({ id }: { id: string }) => id)).toEqual(ids.toReversed());
    const filters = [`agent_id=${other.id}`, 'action=payment.send&limit=1', 'status=pending&limit=1'];
    for (const filter of filters) {
      const { body } = await account.must(200, 'GET', `/v1/permissions?external_id=call-1&${filter}`);
      expect(body.data[0].id).toBe(ids[1]);
    }
    expect((await agent.must(200, 'GET', '/v1/permissions?external_id=call-1')).body.data).toHaveLength(1);
    expect((await account.must(200, 'GET', '/v1/permissions?external_id=call')).body.data).toEqual([]);
    expect((await account.must(200, 'GET', '/v1/permissions?external_id=call-1&action=a.b')).body.data).toEqual([]);
  });

  it('makes one permission when many requests come at the same time', async () => {
    const { account, agent } = await makeAgent();
    const answers = await Promise.all(Array.from({ length: 10 }, () => agent.call('POST', '/v1/permissions', ASKED)));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(await account.log()).toHaveLength(1);
  });

  it('returns the permission of a request that commits first, in three round trips', async () => {
    const database = new FaultyDatabase(env.DB);
    const { world, agent } = await makeAgent(new World({ DB: database.binding }));
    const rival = new World();
    rival.now = world.now;
    let first: unknown;
    database.before(2, async () => {
      first = (await rival.call('POST', '/v1/permissions', { token: agent.key, body: ASKED })).body;
    });
    const second = await agent.call('POST', '/v1/permissions', ASKED);
    expect([second.status, second.body, second.cost.trips]).toEqual([200, first, 3]);
  });

  it('leaves the stored answer of an idempotency key in place', async () => {
    const { world, agent } = await makeAgent();
    const headers = { 'Idempotency-Key': 'k-1' };
    const send = () => world.call('POST', '/v1/permissions', { token: agent.key, body: ASKED, headers });
    const [first, second] = [await send(), await send()];
    expect([first.status, second.status, second.text]).toEqual([201, 201, first.text]);
  });

  it('is free again, and the contents are gone, once the permission is erased', async () => {
    const { world, account, agent } = await makeAgent(new World());
    const { id } = (await agent.must(201, 'POST', '/v1/permissions', ASKED)).body;
    const countContents = () =>
      env.DB.prepare('select count(*) as n from permission_contents where id = ?').bind(idBytes(id)).first('n');
    expect(await countContents()).toBe(1);
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    await world.sweep();
    await world.clean();
    expect(await countContents()).toBe(0);
  });
});

describe('a withdrawal', () => {
  it('expires the request with one entry that says so', async () => {
    const { account, agent } = await makeAgent();
    const { id } = await agent.request(ACT);
    const { body } = await agent.must(200, 'POST', `/v1/permissions/${id}/withdraw`);
    expect([body.status, body.decided_by]).toEqual(['expired', null]);
    const log = await account.log();
    expect(log.map(({ event_type, details }) => [event_type, details.expired])).toEqual([
      ['request', undefined],
      ['expire', 'withdrawn'],
    ]);
    const { body: stats } = await account.must(200, 'GET', `/v1/agents/${agent.id}/stats?period=24h`);
    expect([stats.pending_requests, stats.expired_requests]).toEqual([0, 1]);
  });

  it('is refused once the request is decided, expired or withdrawn', async () => {
    const { world, account, agent } = await makeAgent();
    const [approved, overdue, withdrawn] = [
      await agent.approved(ACT),
      await agent.request({ ...ACT, expires_in: 60 }),
      await agent.request(ACT),
    ];
    await agent.must(200, 'POST', `/v1/permissions/${withdrawn.id}/withdraw`);
    world.advance(60_000);
    for (const { id } of [approved, overdue, withdrawn]) {
      const { body } = await agent.must(409, 'POST', `/v1/permissions/${id}/withdraw`);
      expect(body.code).toBe('not_pending');
    }
    for (const decision of ['approve', 'deny']) {
      await account.must(409, 'POST', `/v1/permissions/${withdrawn.id}/${decision}`);
    }
  });

  it('is for the agent of the request alone', async () => {
    const { world, account, agent } = await makeAgent();
    const { id } = await agent.request(ACT);
    for (const other of [await account.agent(), await (await world.account()).agent()]) {
      expect((await other.call('POST', `/v1/permissions/${id}/withdraw`)).status).toBe(404);
    }
    expect((await account.call('POST', `/v1/permissions/${id}/withdraw`)).body.code).toBe('wrong_credential');
  });

  it('has one winner when a decision comes at the same time', async () => {
    const { account, agent } = await makeAgent();
    for (let round = 0; round < 5; round++) {
      const { id } = await agent.request(ACT);
      const answers = await Promise.all([
        agent.call('POST', `/v1/permissions/${id}/withdraw`),
        account.call('POST', `/v1/permissions/${id}/approve`),
        account.call('POST', `/v1/permissions/${id}/deny`),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    }
    expect(await account.log()).toHaveLength(10);
  });
});
