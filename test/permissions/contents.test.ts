import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { digestOf } from '../support/canonical-json';
import { FaultyDatabase } from '../support/faults';
import { makeAgent, World } from '../support/world';

const JSON_HEADERS = { 'Content-Type': 'application/json' };
const ACT = {
  action: 'payment.send',
  resource: 'account:4711',
  scope: { amount: 500, to: ['a', 'b'] },
};
const INPUT = {
  to: 'DE89 3704',
  amount: 120.5,
  lines: [1, 2e21, null, true],
  é: '\u0000 \ud83d\ude00',
};
const PREVIEW = {
  title: 'Pay invoice 118',
  summary: ' Not trimmed ',
  fields: [
    { label: 'Amount', value: '120.50 EUR', kind: 'money' },
    { label: 'To', value: 'Ada' },
  ],
  blocks: [{ title: 'Invoice', kind: 'json', text: '{"no": 118}' }],
};

describe('a request with input and preview', () => {
  it('shows both, their digests and the title when it is created and when it is read', async () => {
    const { account, agent } = await makeAgent();
    const asked = await agent.request({
      ...ACT,
      input: INPUT,
      preview: PREVIEW,
      external_id: 'call-1',
    });
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
    const { id, input, preview, ...asked } = await agent.request({
      ...ACT,
      input: INPUT,
      preview: PREVIEW,
    });
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
    const digests = {
      input_digest: await digestOf(INPUT),
      preview_digest: await digestOf(PREVIEW),
    };
    const approved = await agent.approved({ ...ACT, input: INPUT, preview: PREVIEW, max_uses: 1 });
    await account.must(200, 'POST', '/v1/tokens/use', {
      token: approved.token.value,
      input_digest: digests.input_digest,
    });
    const denied = await agent.request({ ...ACT, preview: PREVIEW });
    await account.must(200, 'POST', `/v1/permissions/${denied.id}/deny`);
    await agent.request(ACT);
    const log = await account.log();
    const shown = log.map(({ event_type, details }) => [
      event_type,
      details.input_digest,
      details.preview_digest,
    ]);
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
    const policy = {
      name: 'All',
      effect: 'approve',
      actions: ['*'],
      resources: ['*'],
      conditions: {},
    };
    await account.must(201, 'POST', '/v1/policies', policy);
    await agent.request({ action: 'a.b', resource: 'c:d', input: INPUT });
    const [request, approval] = await account.log();
    expect(approval.event_type).toBe('approve');
    for (const { details } of [request, approval])
      expect(details.input_digest).toBe(await digestOf(INPUT));
  });

  it('keeps every JSON value unchanged, null too', async () => {
    const { agent } = await makeAgent();
    const values = [
      null,
      false,
      0,
      -0,
      '',
      [],
      {},
      ' x ',
      [[[]]],
      { '': 1 },
      '\u0000',
      '\u202e',
      1e308,
      5e-324,
    ];
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
    expect((await agent.request({ ...ACT, input: INPUT, input_digest })).input_digest).toBe(
      input_digest,
    );
    const { body } = await agent.must(400, 'POST', '/v1/permissions', {
      ...ACT,
      input: {},
      input_digest,
    });
    expect(body.errors).toEqual([
      { path: 'body.input_digest', message: 'is not the digest of `input`' },
    ]);
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
    ...['\u200b', '\u2060', '\u2800', '\u00ad', '\u202e\u202c', '\u0001', '\u3164'].map(
      (title): [string, object] => ['preview.title', { preview: { title } }],
    ),
    ['preview', { preview: { title: big } }],
    ['preview', { preview: null }],
    [
      'preview.fields',
      { preview: { title: 'a', fields: Array(51).fill({ label: 'a', value: 'b' }) } },
    ],
    [
      'preview.fields.0.kind',
      { preview: { title: 'a', fields: [{ label: 'a', value: 'b', kind: 'html' }] } },
    ],
    ...['amount', '#/amount', '/a~2', '/\u0000'].map((of): [string, object] => [
      'preview.fields.0.of',
      { preview: { title: 'a', fields: [{ label: 'a', value: 'b', of }] } },
    ]),
    [
      'preview.blocks',
      { preview: { title: 'a', blocks: Array(11).fill({ kind: 'text', text: 'b' }) } },
    ],
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

  it.each([
    '{"title":"a","__proto__":{"x":1}}',
    '{"title":"a","fields":[{"label":"a","value":"b","__proto__":"x"}]}',
    '{"title":"a","blocks":[{"kind":"text","text":"b","__proto__":"x"}]}',
    '{"title":"a","constructor":"x"}',
    '{"title":"a","fields":[{"label":"a","value":"b","toString":"x"}]}',
  ])('is refused for unknown fields of its preview: %s', async (preview) => {
    const { world, agent } = await makeAgent();
    const raw = `{"action":"a.b","resource":"c:d","preview":${preview}}`;
    const answer = await world.call('POST', '/v1/permissions', {
      token: agent.key,
      raw,
      headers: JSON_HEADERS,
    });
    expect([answer.status, answer.text.slice(0, 300)]).toEqual([400, expect.anything()]);
  });

  it('is refused for an unknown field __proto__', async () => {
    const { world, agent } = await makeAgent();
    const raw = '{"action":"a.b","resource":"c:d","__proto__":{"input":1}}';
    expect(
      (
        await world.call('POST', '/v1/permissions', {
          token: agent.key,
          raw,
          headers: JSON_HEADERS,
        })
      ).status,
    ).toBe(400);
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

  it('leaves nothing if its agent is deleted before the commit', async () => {
    const database = new FaultyDatabase(env.DB);
    const { world, account, agent } = await makeAgent(new World({ DB: database.binding }));
    const rival = new World();
    rival.now = world.now;
    const countContents = () =>
      env.DB.prepare('select count(*) as n from permission_contents').first('n');
    const before = await countContents();
    database.before(2, () =>
      rival.call('DELETE', `/v1/agents/${agent.id}`, { token: account.token }),
    );
    const { status } = await agent.call('POST', '/v1/permissions', {
      ...ACT,
      input: 1,
      preview: { title: 'a' },
      external_id: 'x',
    });
    expect(status).toBe(401);
    expect(await countContents()).toBe(before);
  });

  it('is in no export, entry or stored answer in clear text', async () => {
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
    const done = (await account.must(200, 'GET', `/v1/audit/export/${body.export_id ?? body.id}`))
      .body;
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
});

describe('a token of a permission with a digest', () => {
  async function approve(fields: object) {
    const { account, agent } = await makeAgent();
    const { token } = await agent.approved({ ...ACT, ...fields, max_uses: 5 });
    const use = async (more: object) => {
      const { status, body } = await account.call('POST', '/v1/tokens/use', {
        token: token.value,
        ...more,
      });
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
    const claims = JSON.parse(
      atob((token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')),
    );
    expect(claims.authorization_details[0].input_digest).toBe(input_digest);
    const { body } = await account.must(200, 'POST', '/v1/tokens/introspect', { token });
    expect(body.authorization_details[0].input_digest).toBe(input_digest);
  });

  it('can be used even if action, resource and scope have their largest sizes', async () => {
    const { account, agent } = await makeAgent();
    const resource = `k:${'😀'.repeat(510)}`;
    const action = `a.${'b'.repeat(126)}`;
    const scope = { a: '\u0001'.repeat(339) };
    const { token, input_digest } = await agent.approved({ action, resource, scope, input: 1 });
    expect(token.value.length).toBeLessThan(16_384);
    await account.must(200, 'POST', '/v1/tokens/use', { token: token.value, input_digest });
  });

  it('says that the digest is missing', async () => {
    const { account, agent } = await makeAgent();
    const { token } = await agent.approved({ ...ACT, input: 1 });
    const { body } = await account.must(409, 'POST', '/v1/tokens/use', { token: token.value });
    expect(body.detail).toContain('input_digest');
  });

  it('is not used with any other spelling of the digest, and an input of null has one', async () => {
    const { account, agent } = await makeAgent();
    const nothing = await agent.approved({ ...ACT, input: null });
    expect(nothing.input_digest).toBe(await digestOf(null));
    const use = async (token: string, more: object) => {
      const { status, body } = await account.call('POST', '/v1/tokens/use', { token, ...more });
      return body.reason ?? status;
    };
    expect(await use(nothing.token.value, {})).toBe('mismatch');
    expect(await use(nothing.token.value, { input_digest: null })).toBe(400);
    expect(await use(nothing.token.value, { input_digest: ` ${nothing.input_digest}` })).toBe(
      'mismatch',
    );
    expect(
      await use(nothing.token.value, { input_digest: nothing.input_digest.slice(0, -1) }),
    ).toBe('mismatch');
    expect(await use(nothing.token.value, { input_digest: nothing.input_digest })).toBe(200);
  });
});
