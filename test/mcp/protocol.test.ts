import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { awaitWindow } from '../support/limiter';
import { watchLog } from '../support/log';
import { LEGACY_HEADERS, sendMessage } from '../support/mcp';
import { type Answer, type Json, makeAgent, World } from '../support/world';

const log = watchLog();

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const call = (name: string, fields: Json = {}) => ({
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params: { name, arguments: fields },
});

/** A message of the current revision, and the headers that have to go with it. */
function modern(method: string, params: Json = {}) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const headers = {
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': method,
    ...(params.name && { 'Mcp-Name': params.name }),
  };
  return [{ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }, headers] as const;
}

function expectProblem({ status, headers, body }: Answer, wanted: number, code: string) {
  expect([status, body.code]).toEqual([wanted, code]);
  expect(headers.get('Content-Type')).toBe('application/problem+json');
  expect(headers.get('Cache-Control')).toBe('no-store');
  expect(body.request_id).toBe(headers.get('X-Request-Id'));
}

it('answers one message with JSON that nobody stores, and keeps the request id', async () => {
  const { world, agent } = await makeAgent();
  const answer = await sendMessage(world, agent.key, PING, { 'X-Request-Id': 'mine' });
  expect([answer.status, answer.body]).toEqual([200, { jsonrpc: '2.0', id: 1, result: {} }]);
  expect(answer.headers.get('Content-Type')).toBe('application/json');
  expect(answer.headers.get('Cache-Control')).toBe('no-store');
  expect(answer.headers.get('X-Request-Id')).toBe('mine');
  expect(answer.headers.get('Mcp-Session-Id')).toBeNull();
  const notification = await sendMessage(world, agent.key, {
    jsonrpc: '2.0',
    method: 'notifications/initialized',
  });
  expect([notification.status, notification.text]).toEqual([202, '']);
});

it('answers 401 with a plain challenge before anything else', async () => {
  const { world, account, agent } = await makeAgent();
  const { body: gone } = await account.must(201, 'POST', '/v1/me/tokens', {});
  await account.must(204, 'DELETE', `/v1/me/tokens/${gone.id}`);
  const rotated = await account.agent();
  await account.must(200, 'POST', `/v1/agents/${rotated.id}/rotate-key`, {
    revoke_immediately: true,
  });
  const ask = call('request_permission', { action: 'a.b', resource: 'x:y' });
  for (const token of ['', 'nonsense', gone.token, rotated.key, agent.key.toLowerCase()]) {
    for (const message of [PING, ask, {}, [], 'x']) {
      const answer = await sendMessage(world, token, message);
      expectProblem(answer, 401, 'unauthorized');
      expect(answer.headers.get('WWW-Authenticate')).toBe('Bearer');
    }
  }
  expect((await world.call('POST', '/mcp', { body: PING })).status).toBe(401);
  expectProblem(await sendMessage(world, env.ADMIN_TOKEN, PING), 403, 'wrong_credential');
});

it('refuses an inactive agent and an inactive account', async () => {
  const { world, account, agent } = await makeAgent();
  await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { is_active: false });
  expectProblem(await sendMessage(world, agent.key, PING), 403, 'agent_inactive');
  await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
    token: env.ADMIN_TOKEN,
    body: { is_active: false },
  });
  expectProblem(await sendMessage(world, account.token, PING), 403, 'account_inactive');
});

it.each([
  'https://evil.test',
  'http://countersign.test',
  'https://countersign.test:8443',
  'https://countersign.test.evil.test',
  'null',
  '',
])('refuses a page of another origin: %j', async (Origin) => {
  const { world, agent } = await makeAgent();
  const answer = await sendMessage(world, agent.key, PING, { Origin });
  expectProblem(answer, 403, 'wrong_credential');
  expect(answer.cost.trips).toBe(0);
  expect(answer.headers.get('Access-Control-Allow-Origin')).toBeNull();
  expect(
    (await sendMessage(world, agent.key, PING, { Origin: 'https://countersign.test' })).status,
  ).toBe(200);
});

it.each(['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'])(
  'accepts no %s: there are no sessions',
  async (method) => {
    const { world, agent } = await makeAgent();
    const answer = await world.call(method, '/mcp', {
      token: agent.key,
      headers: { Accept: 'text/event-stream' },
    });
    expectProblem(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('Allow')).toBe('POST');
  },
);

it('refuses bodies that are too large, of another type, or no JSON', async () => {
  const { world, agent } = await makeAgent();
  const send = (raw: BodyInit, headers: Record<string, string> = {}) =>
    world.call('POST', '/mcp', {
      token: agent.key,
      raw,
      headers: { ...LEGACY_HEADERS, ...headers },
    });
  const large = JSON.stringify({ ...PING, params: { x: 'x'.repeat(1024 * 1024) } });
  expectProblem(await send(large), 413, 'payload_too_large');
  expectProblem(
    await send(JSON.stringify(PING), { 'Content-Type': 'text/plain' }),
    415,
    'unsupported_media_type',
  );
  for (const raw of [
    '{',
    'no JSON',
    new Uint8Array([0xff]),
    `${'['.repeat(65)}${']'.repeat(65)}`,
  ]) {
    expectProblem(await send(raw), 400, 'invalid_request');
  }
  for (const raw of [
    '',
    'null',
    '1',
    '"x"',
    '{}',
    '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    '{"id":1}',
  ]) {
    expect([raw, (await send(raw)).status]).toEqual([raw, 400]);
  }
});

it('refuses several messages at once, which would count as one request', async () => {
  const { world, account, agent } = await makeAgent();
  const ask = call('request_permission', { action: 'a.b', resource: 'x:y' });
  expectProblem(await sendMessage(world, agent.key, [ask, ask]), 400, 'invalid_request');
  expectProblem(await sendMessage(world, agent.key, []), 400, 'invalid_request');
  expect(await account.log()).toEqual([]);
});

it('refuses an Idempotency-Key, which a client would send with every message', async () => {
  const { world, account, agent } = await makeAgent();
  const ask = call('request_permission', { action: 'a.b', resource: 'x:y' });
  const answer = await sendMessage(world, agent.key, ask, { 'Idempotency-Key': 'k' });
  expectProblem(answer, 400, 'invalid_request');
  expect(answer.body.errors).toEqual([
    { path: 'header.Idempotency-Key', message: expect.stringMatching(/external_id/) },
  ]);
  expect(await account.log()).toEqual([]);
});

it('counts against the limits of the credential', async () => {
  await awaitWindow();
  const unlimited = await makeAgent();
  const limiters = {
    CREDENTIAL_LIMITER: env.LIMITER_OF_3,
    ADDRESS_LIMITER: env.LIMITER_OF_3,
    ACCOUNT_LIMITER: env.ACCOUNT_LIMITER,
  };
  const world = new World({ RATE_LIMITS: 'on', ...limiters });
  const statuses = [];
  for (let i = 0; i < 5; i++)
    statuses.push((await sendMessage(world, unlimited.agent.key, PING)).status);
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
});

it('answers what it does not have with a JSON-RPC error', async () => {
  const { world, agent } = await makeAgent();
  const errorOf = async (message: Json, headers = {}) => {
    const { body } = await sendMessage(world, agent.key, message, headers);
    return [body.id, body.error?.code];
  };
  expect(await errorOf(call('approve_permission'))).toEqual([7, -32602]);
  expect(await errorOf(call('__proto__'))).toEqual([7, -32602]);
  for (const method of [
    'resources/list',
    'prompts/list',
    'completion/complete',
    'logging/setLevel',
    'nothing',
  ]) {
    expect([method, await errorOf({ ...PING, method, params: {} })]).toEqual([method, [1, -32601]]);
  }
  const [listen, headers] = modern('subscriptions/listen', {
    notifications: { toolsListChanged: true },
  });
  expect(await errorOf(listen, headers)).toEqual([1, -32603]);
  const [unknown, unknownHeaders] = modern('tools/call', { name: 'approve', arguments: {} });
  expect(await errorOf(unknown, unknownHeaders)).toEqual([1, -32602]);
});

it.each([
  undefined,
  '',
  '*/*',
  'application/*',
  'application/json',
  'text/event-stream',
  'application/json, text/event-stream',
])('answers JSON to a client that accepts %j', async (Accept) => {
  const { world, agent } = await makeAgent();
  const { Accept: _, ...others } = LEGACY_HEADERS;
  const headers = { ...others, ...(Accept !== undefined && { Accept }) };
  const answer = await world.call('POST', '/mcp', { token: agent.key, body: PING, headers });
  expect([answer.status, answer.body]).toEqual([200, { jsonrpc: '2.0', id: 1, result: {} }]);
  expect(answer.headers.get('Content-Type')).toBe('application/json');

  const [message, modernHeaders] = modern('tools/list');
  const current = { token: agent.key, body: message, headers: { ...headers, ...modernHeaders } };
  expect((await world.call('POST', '/mcp', current)).body.result.tools).toHaveLength(6);
});

it('serves the same at /mcp/', async () => {
  const { world, account, agent } = await makeAgent();
  const ask = call('request_permission', { action: 'a.b', resource: 'x:y' });
  const answer = await world.call('POST', '/mcp/', {
    token: agent.key,
    body: ask,
    headers: LEGACY_HEADERS,
  });
  expect([answer.status, answer.body.result.structuredContent.permission.status]).toEqual([
    200,
    'pending',
  ]);
  expect(await account.log()).toHaveLength(1);
  for (const method of ['GET', 'DELETE', 'PUT']) {
    expectProblem(
      await world.call(method, '/mcp/', { token: agent.key }),
      405,
      'method_not_allowed',
    );
  }
  expectProblem(await world.call('POST', '/mcp/', { body: PING }), 401, 'unauthorized');
  const page = {
    token: agent.key,
    body: PING,
    headers: { ...LEGACY_HEADERS, Origin: 'https://evil.test' },
  };
  expectProblem(await world.call('POST', '/mcp/', page), 403, 'wrong_credential');
});

it('takes null for an absent field of a message', async () => {
  const { world, agent } = await makeAgent();
  const resultOf = async (message: Json) => {
    const { status, body } = await sendMessage(world, agent.key, message);
    expect([status, body.error]).toEqual([200, undefined]);
    return body.result;
  };
  const listed = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  expect((await resultOf({ ...listed, params: null })).tools).toHaveLength(6);
  expect((await resultOf({ ...listed, params: { cursor: null, _meta: null } })).tools).toHaveLength(
    6,
  );
  expect(await resultOf({ ...PING, params: null })).toEqual({});
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: { roots: null },
    clientInfo: { name: 'test', title: null, version: '1' },
  };
  expect(
    (await resultOf({ jsonrpc: '2.0', id: 1, method: 'initialize', params })).serverInfo.name,
  ).toBe('countersign');
  const calling = {
    ...call('list_my_permissions'),
    params: { name: 'list_my_permissions', arguments: null },
  };
  expect((await resultOf(calling)).structuredContent.permissions).toEqual([]);
  const none = { jsonrpc: '2.0', method: 'notifications/initialized', params: null };
  expect((await sendMessage(world, agent.key, none)).status).toBe(202);
});

it('takes null for an absent argument of a tool, except where null is a value', async () => {
  const { world, agent } = await makeAgent();
  const ask = async (fields: Json) => {
    const message = call('request_permission', { action: 'a.b', resource: 'x:y', ...fields });
    return (await sendMessage(world, agent.key, message)).body.result;
  };
  const nothing = {
    scope: null,
    reason: null,
    expires_in: null,
    token_ttl: null,
    max_uses: null,
    input_digest: null,
  };
  const unnamed = await ask({ ...nothing, preview: null, external_id: null });
  const { permission } = unnamed.structuredContent;
  const { body: asked } = await agent.must(200, 'GET', `/v1/permissions/${permission.id}`);
  expect(asked).toMatchObject({
    scope: {},
    reason: null,
    input_digest: null,
    preview: null,
    external_id: null,
  });

  const preview = {
    title: 'Title',
    summary: null,
    fields: [{ label: 'To', value: 'Ada', kind: null }],
  };
  const valued = await ask({ input: null, scope: { max: null }, preview, external_id: 'call_1' });
  const { id } = valued.structuredContent.permission;
  const { body } = await agent.must(200, 'GET', `/v1/permissions/${id}`);
  expect(body).toMatchObject({
    input: null,
    input_digest: expect.stringMatching(/^sha-256:/),
    scope: { max: null },
  });
  expect(body.preview).toEqual({ title: 'Title', fields: [{ label: 'To', value: 'Ada' }] });
  // The external id finds the request although the other fields are null.
  const again = await ask({
    ...nothing,
    scope: { max: null },
    input: null,
    preview: null,
    external_id: 'call_1',
  });
  expect(again.structuredContent).toMatchObject({ is_new: false, permission: { id } });

  const missing = await ask({ action: null });
  expect([missing.isError, missing.content[0].text]).toEqual([
    true,
    expect.stringContaining('- action: is required'),
  ]);
  expect((await ask({ unknown: null })).content[0].text).toContain('- unknown: is not a field');
});

it('refuses what contradicts the protocol before a tool is called', async () => {
  const { world, account, agent } = await makeAgent();
  const fields = { name: 'request_permission', arguments: { action: 'a.b', resource: 'x:y' } };
  const [message, headers] = modern('tools/call', fields);
  const status = async (body: Json, sent: Record<string, string>) =>
    (await sendMessage(world, agent.key, body, sent)).status;
  expect(await status(message, { ...headers, 'Mcp-Name': 'get_permission' })).toBe(400);
  expect(await status(message, { ...headers, 'Mcp-Method': 'tools/list' })).toBe(400);
  expect(await status(message, { ...headers, 'MCP-Protocol-Version': '2025-11-25' })).toBe(400);
  const legacy = call(fields.name, fields.arguments);
  expect(await status(legacy, { 'MCP-Protocol-Version': '2099-01-01' })).toBe(400);
  expect(await account.log()).toEqual([]);
  expect(await status(message, headers)).toBe(200);
  expect(await account.log()).toHaveLength(1);
});

it('reads an id that is no text as one of nothing, before it knows who calls', async () => {
  const { world, agent } = await makeAgent();
  const message = call('use_token', {
    permission_id: { toString: 1 },
    action: 'a.b',
    resource: 'c:d',
  });
  const { body } = await sendMessage(world, agent.key, message);
  expect(body.result.isError).toBe(true);
  await agent.account.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`, {
    revoke_immediately: true,
  });
  expectProblem(await sendMessage(world, agent.key, message), 401, 'unauthorized');
});

it('takes arguments that are not an object for none', async () => {
  const { world, agent } = await makeAgent();
  for (const fields of [null, [], 'x', 1]) {
    const { status, body } = await sendMessage(world, agent.key, call('get_permission', fields));
    expect([status, body.error?.code ?? body.result?.isError]).toEqual([
      200,
      expect.toBeOneOf([-32602, true]),
    ]);
  }
});

it('logs the tool, what it refused, and the permission', async () => {
  const { world, agent } = await makeAgent();
  const { id } = await agent.request();
  log.clear();
  await sendMessage(world, agent.key, call('get_permission', { permission_id: id }));
  await sendMessage(world, agent.key, call('get_permission', { permission_id: 'secret' }));
  await sendMessage(world, agent.key, PING);
  await world.call('POST', '/mcp', { body: PING });
  const lines = log
    .of('request')
    .map(({ route, tool, target, code, status, agent }) => [
      route,
      tool,
      target,
      code,
      status,
      agent,
    ]);
  expect(lines).toEqual([
    ['/mcp', 'get_permission', id, undefined, 200, agent.id],
    ['/mcp', 'get_permission', undefined, 'not_found', 200, agent.id],
    ['/mcp', undefined, undefined, undefined, 200, agent.id],
    ['/mcp', undefined, undefined, 'unauthorized', 401, undefined],
  ]);
  expect(log.lines.join()).not.toContain('secret');
});
