import { describe, expect, it } from 'vitest';
import { BackgroundWork } from '../support/background-work';
import {
  approveAll,
  callUpstream,
  codeOf,
  eventsOf,
  makeConnectionScene,
  receivedBy,
  UPSTREAM,
} from '../support/connection-calls';
import { type Json, ORIGIN, type TestAgent } from '../support/world';

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

/** Makes a call with a body as it is. */
function callRaw(agent: TestAgent, connection: Json, raw: BodyInit, headers: Json = FORM) {
  return agent.account.world.call('POST', `/v1/connections/${connection.id}/proxy/payouts`, {
    token: agent.key,
    raw,
    headers,
  });
}

/** Makes a call of an agent that goes away when `left` is aborted. */
async function callUntilLeft(agent: TestAgent, connection: Json, left: AbortController) {
  const { world } = agent.account;
  const work = new BackgroundWork();
  const request = new Request(`${ORIGIN}/v1/connections/${connection.id}/proxy/payouts`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${agent.key}`, 'Content-Type': 'application/json' },
    body: '{"amount": 1}',
    signal: left.signal,
  });
  await world.app.fetch(request, world.env, work.context);
  await work.finish();
}

async function open() {
  const scene = await makeConnectionScene();
  await approveAll(scene.account);
  return scene;
}

describe('a call', () => {
  it.each([
    '/a//b',
    '/a%5cb',
    '/a%2f..%2fb',
    '/a/%252e%252e/b',
    '/%2561dmin',
    '/%252561dmin',
    '/a%00b',
    '/a%0Ab',
    '/a%zz',
    '/x?a=%ff',
    '/a%c0%ae%c0%aeb',
  ])('is refused with the path %j', async (path) => {
    const { world, account, agent, connection } = await open();
    for (const method of ['GET', 'POST']) {
      const refused = await callUpstream(agent, connection, { method, path });
      expect(codeOf(refused)).toEqual([400, 'invalid_request']);
    }
    expect([receivedBy(world), await eventsOf(account)]).toEqual([[], []]);
  });

  it.each<[string, string, Json, number]>([
    ['a name twice', '{"amount":1,"amount":2}', { 'Content-Type': 'application/json' }, 400],
    [
      'a rounded number',
      '{"amount":1.00000000000000001}',
      { 'Content-Type': 'application/json' },
      400,
    ],
    ['no JSON', '{', { 'Content-Type': 'application/json' }, 400],
    ['a field twice', 'amount=1&amount=2', FORM, 400],
    ['a field and a list of its name', 'amount=1&amount[]=2', FORM, 400],
    [
      'another character set',
      'amount=1',
      { 'Content-Type': `${FORM['Content-Type']}; charset=latin1` },
      415,
    ],
    [
      'two content types',
      'amount=1',
      { 'Content-Type': `${FORM['Content-Type']}, text/plain` },
      415,
    ],
    [
      'two character sets',
      'amount=1',
      { 'Content-Type': `${FORM['Content-Type']}; charset=utf-8; charset=utf-16` },
      415,
    ],
    [
      'a part that is not UTF-8',
      '--b\r\nContent-Disposition: form-data; name="amount"\r\n\r\n\ufffd\r\n--b--\r\n',
      { 'Content-Type': 'multipart/form-data; boundary=b' },
      400,
    ],
    ['an encoded body', 'amount=1', { ...FORM, 'Content-Encoding': 'gzip' }, 415],
    ['more than 1 MiB', 'a'.repeat(1024 * 1024 + 1), FORM, 413],
  ])('is refused with %s', async (_, raw, headers, status) => {
    const { world, account, agent, connection } = await open();
    expect((await callRaw(agent, connection, raw, headers)).status).toBe(status);
    expect([receivedBy(world), await eventsOf(account)]).toEqual([[], []]);
  });

  it('is sent as it was parsed, with the fields that rules read', async () => {
    const { world, agent, connection } = await open();
    const raw = 'amount=12.5&card%5Bname%5D=Ada+L&x=%C3%A9';
    const answer = await callRaw(agent, connection, raw);
    expect(answer.status).toBe(200);
    const [sent] = world.internet.sentTo(UPSTREAM);
    expect(sent?.body).toBe(raw);
    const id = answer.headers.get('Countersign-Permission');
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${id}`);
    expect(body.scope).toEqual({ amount: 12.5 });
    expect(body.input.body).toEqual({ amount: '12.5', 'card[name]': 'Ada L', x: 'é' });
  });

  it('sends the parts of a form, whose files stand in the input by their digest', async () => {
    const { agent, connection } = await open();
    const form = new FormData();
    form.append('amount', '3');
    form.append('file', new File(['content'], 'a.txt', { type: 'text/plain' }));
    const answer = await callRaw(agent, connection, form, {});
    const id = answer.headers.get('Countersign-Permission');
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${id}`);
    expect(body.scope).toEqual({ amount: 3 });
    expect(body.input.headers['content-type']).toBe('multipart/form-data');
    expect(body.input.body).toEqual([
      { name: 'amount', value: '3' },
      {
        name: 'file',
        filename: 'a.txt',
        type: 'text/plain',
        size: 7,
        digest: 'sha-256:7XACtDnprIRfIjV9giusFERzD722AW0-yUMil7nsn3M',
      },
    ]);
  });
});

describe('an answer', () => {
  it('leads only to the proxy, and rules over nothing', async () => {
    const { world, agent, connection } = await open();
    world.internet.on(UPSTREAM, () => {
      const headers = new Headers({
        Location: '/v1/payouts/2',
        Link: `<https://${UPSTREAM}/v1/payouts?page=2>; rel="next", <https://evil.example/>; rel="last"`,
        'Set-Cookie': 'a=b',
        'Access-Control-Allow-Origin': '*',
        'Countersign-Permission': 'perm_forged',
        'X-Kept': 'yes',
      });
      return new Response('{}', { status: 201, headers });
    });
    const { headers } = await callUpstream(agent, connection);
    const base = `${ORIGIN}/v1/connections/${connection.id}/proxy`;
    expect(headers.get('Location')).toBe(`${base}/payouts/2`);
    expect(headers.get('Link')).toBe(`<${base}/payouts?page=2>; rel="next"`);
    for (const name of ['Set-Cookie', 'Access-Control-Allow-Origin'])
      expect(headers.get(name)).toBeNull();
    expect(headers.get('Countersign-Permission')).not.toBe('perm_forged');
    expect(headers.get('X-Kept')).toBe('yes');
    expect(headers.get('Content-Security-Policy')).toBe('sandbox');
  });

  it('429 is tried again after its Retry-After, and only while the call may be sent', async () => {
    const { world, account, agent, connection } = await open();
    let calls = 0;
    world.internet.on(UPSTREAM, () => {
      calls += 1;
      if (calls > 2) return Response.json({});
      return new Response(null, { status: 429, headers: { 'Retry-After': '0' } });
    });
    expect((await callUpstream(agent, connection)).status).toBe(200);
    expect([calls, world.pauses]).toEqual([3, [1_000, 1_000]]);
    calls = 0;
    world.whileAsleep = async () => {
      world.whileAsleep = async () => undefined;
      await account.must(200, 'POST', '/v1/me/stop', { reason: 'Test' });
    };
    const stopped = await callUpstream(agent, connection, { body: { amount: 7 } });
    expect([codeOf(stopped), calls]).toEqual([[403, 'account_stopped'], 1]);
  });

  it('that comes after the agent went away is not awaited: the outcome is unknown', async () => {
    const { world, agent, connection } = await open();
    const left = new AbortController();
    world.internet.on(UPSTREAM, () => {
      left.abort();
      return new Promise(() => undefined);
    });
    await callUntilLeft(agent, connection, left);
    const { data } = (await agent.must(200, 'GET', '/v1/permissions')).body;
    expect(data[0].outcome).toMatchObject({
      status: 'unknown',
      summary: 'The agent did not wait for the answer. The request may have arrived.',
    });
  });

  it('is for the call that still waits, if the agent calls again while a person decides', async () => {
    const { world, account, agent, connection } = await makeConnectionScene();
    const left = new AbortController();
    let id = '';
    world.whileAsleep = async () => {
      world.whileAsleep = async () => undefined;
      left.abort();
      id = (await agent.must(200, 'GET', '/v1/permissions')).body.data[0].id;
      await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
    };
    await callUntilLeft(agent, connection, left);
    expect(receivedBy(world)).toEqual([]);
    const again = await callUpstream(agent, connection, { body: { amount: 1 } });
    expect([again.status, again.headers.get('Countersign-Permission')]).toEqual([200, id]);
    expect(receivedBy(world)).toEqual(['POST /v1/payouts']);
  });

  it('401 is a fault of the connection, and an error is told in the form of SDKs', async () => {
    const { world, agent, connection } = await open();
    world.internet.on(UPSTREAM, () => new Response('secret words', { status: 401 }));
    const refused = await callUpstream(agent, connection);
    expect(codeOf(refused)).toEqual([502, 'connection_unauthorized']);
    expect(refused.body.error).toMatchObject({ code: 'connection_unauthorized' });
    for (const name of ['X-Should-Retry', 'Stripe-Should-Retry'])
      expect(refused.headers.get(name)).toBe('false');
    expect(refused.text).not.toContain('secret words');
  });

  it('that leaves the outcome unknown tells SDKs not to try again, and no other answer does', async () => {
    const { world, agent, connection } = await open();
    const retries: [number, string | null, string | null][] = [];
    for (const status of [200, 400, 408, 409, 429, 500, 503]) {
      world.internet.on(UPSTREAM, () => Response.json({}, { status }));
      const { headers } = await callUpstream(agent, connection, { body: { amount: status } });
      retries.push([status, headers.get('X-Should-Retry'), headers.get('Stripe-Should-Retry')]);
    }
    expect(retries).toEqual([
      [200, null, null],
      [400, null, null],
      [408, 'false', 'false'],
      [409, 'false', 'false'],
      [429, null, null],
      [500, 'false', 'false'],
      [503, 'false', 'false'],
    ]);
    const read = await callUpstream(agent, connection, { method: 'GET' });
    expect([read.status, read.headers.get('X-Should-Retry')]).toEqual([503, null]);
  });
});

describe('a refusal', () => {
  it.each([
    [null, 'application/problem+json'],
    ['*/*', 'application/problem+json'],
    ['application/*;q=0.5', 'application/problem+json'],
    ['application/json, application/problem+json', 'application/problem+json'],
    ['application/json', 'application/json'],
    ['application/vnd.github.v3+json', 'application/json'],
  ])('is for a client that accepts %s of the type %s', async (accept, type) => {
    const { agent, connection } = await open();
    const refused = await callUpstream(agent, connection, {
      method: 'DELETE',
      headers: accept === null ? {} : { Accept: accept },
    });
    expect(refused.headers.get('Content-Type')).toBe(type);
    const { detail } = refused.body;
    expect(refused.body).toMatchObject({
      code: 'connection_refused',
      message: detail,
      error: { type: 'countersign_refusal', code: 'connection_refused', message: detail },
    });
  });
});
