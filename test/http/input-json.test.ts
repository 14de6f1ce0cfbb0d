import { describe, expect, it } from 'vitest';
import { type Answer, World } from '../support/world';

const HEADERS = { 'Content-Type': 'application/json' };
const ACT = '"action": "payment.send", "resource": "account:4711"';
const RULE = '"name": "x", "effect": "approve", "actions": ["*"], "resources": ["*"]';

/** An account that is not the first one. */
async function makeScene() {
  const world = new World();
  await (await world.account()).agent();
  const account = await world.account();
  const agent = await account.agent();
  const { id } = await agent.request({ scope: { amount: { of: [500, 600] } } });
  const { body: policy } = await account.must(
    201,
    'POST',
    '/v1/policies',
    JSON.parse(`{${RULE}, "is_active": false}`),
  );
  const send = (token: string, method: string, path: string, raw: string, headers = {}) =>
    world.call(method, path, { token, raw, headers: { ...HEADERS, ...headers } });
  return {
    account,
    asUser: (method: string, path: string, raw: string) => send(account.token, method, path, raw),
    asAgent: (method: string, path: string, raw: string, headers = {}) =>
      send(agent.key, method, path, raw, headers),
    ofAgent: `/v1/agents/${agent.id}`,
    ofPermission: `/v1/permissions/${id}`,
    ofPolicy: `/v1/policies/${policy.id}`,
  };
}

type Scene = Awaited<ReturnType<typeof makeScene>>;

interface Field {
  /** Where the field stands, as errors name it. */
  place: string;
  /** Sends the field, which holds an object. */
  send: (scene: Scene, field: string) => Promise<Answer>;
}

/** Every field of free JSON. What stands around the field is valid. */
const FIELDS: Record<string, Field> = {
  'the scope of a request': {
    place: 'body.scope',
    send: ({ asAgent }, field) => asAgent('POST', '/v1/permissions', `{${ACT}, "scope": ${field}}`),
  },
  'the input of a request': {
    place: 'body.input',
    send: ({ asAgent }, field) => asAgent('POST', '/v1/permissions', `{${ACT}, "input": ${field}}`),
  },
  'the scope of an approval': {
    place: 'body.scope',
    send: ({ asUser, ofPermission }, field) =>
      asUser('POST', `${ofPermission}/approve`, `{"scope": ${field}}`),
  },
  'the scope of a statement': {
    place: 'body.scope',
    send: ({ asUser, ofPermission }, field) =>
      asUser('POST', `${ofPermission}/statement`, `{"decision": "approve", "scope": ${field}}`),
  },
  'the scope of a simulation': {
    place: 'body.scope',
    send: ({ asUser }, field) =>
      asUser('POST', '/v1/policies/simulate', `{${ACT}, "scope": ${field}}`),
  },
  'the conditions of a new policy': {
    place: 'body.conditions',
    send: ({ asUser }, field) =>
      asUser('POST', '/v1/policies', `{${RULE}, "conditions": ${field}}`),
  },
  'the conditions of a changed policy': {
    place: 'body.conditions',
    send: ({ asUser, ofPolicy }, field) => asUser('PUT', ofPolicy, `{"conditions": ${field}}`),
  },
  'the conditions of a replay': {
    place: 'body.policy.conditions',
    send: ({ asUser }, field) =>
      asUser('POST', '/v1/policies/replay', `{"policy": {${RULE}, "conditions": ${field}}}`),
  },
  'the metadata of a new agent': {
    place: 'body.metadata',
    send: ({ asUser }, field) =>
      asUser('POST', '/v1/agents', `{"name": "x", "metadata": ${field}}`),
  },
  'the metadata of a changed agent': {
    place: 'body.metadata',
    send: ({ asUser, ofAgent }, field) => asUser('PUT', ofAgent, `{"metadata": ${field}}`),
  },
  'the arguments of an MCP tool': {
    place: 'body.params.arguments.scope',
    send: ({ asAgent }, field) => {
      const call = `{"name": "request_permission", "arguments": {${ACT}, "scope": ${field}}}`;
      const raw = `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ${call}}`;
      return asAgent('POST', '/mcp', raw, { Accept: 'application/json, text/event-stream' });
    },
  },
};

const shared = await makeScene();

describe.each(Object.entries(FIELDS))('%s', (_, { place, send }) => {
  it.each([
    '9007199254740993',
    '-9007199254740993',
    '1234567890123456789',
    '100000000000000000001',
    '0.1000000000000000055',
    '1e-400',
    '1e400',
    '-1e999',
  ])('refuses %s, which a double would round', async (number) => {
    const { status, body } = await send(shared, `{"amount": {"equals": [1, ${number}]}}`);
    const errors = [
      { path: `${place}.amount.equals.1`, message: expect.stringMatching(/send it as text/) },
    ];
    expect([status, body.code, body.errors]).toEqual([400, 'invalid_request', errors]);
  });

  it.each([
    '{"amount": {"max": 5}, "amount": {"max": 500000}}',
    '{"amount": {}, "\\u0061mount": {}}',
  ])('refuses a name that an object has twice: %s', async (field) => {
    const { status, body } = await send(shared, field);
    const errors = [{ path: `${place}.amount`, message: 'must be given once' }];
    expect([status, body.code, body.errors]).toEqual([400, 'invalid_request', errors]);
  });

  it('takes a number whose shortest decimal has the same value, however it is written', async () => {
    const scene = await makeScene();
    const numbers =
      '0.1, 1.50, 1e2, 1E+2, -0, 0e999, 9007199254740992, 9007199254740994, 5e-324, 1e21';
    // An approval keeps the list that was requested.
    const value = place === 'body.scope' ? '[600.0, 5.00e2]' : `[${numbers}]`;
    const key = place.endsWith('conditions') ? 'in' : 'of';
    const { body } = await send(scene, `{"amount": {"${key}": ${value}}}`);
    // An account's own token makes no statement, but its body is read before that.
    expect([undefined, 'person_required']).toContain(body.code);
  });
});

it('a name that stands twice in the body itself is refused', async () => {
  const { asAgent } = shared;
  const raw = `{${ACT}, "scope": {"max": 1}, "scope": {"max": 2}}`;
  const { status, body } = await asAgent('POST', '/v1/permissions', raw);
  expect([status, body.errors]).toEqual([
    400,
    [{ path: 'body.scope', message: 'must be given once' }],
  ]);
});

it('a policy on a large number approves no request for its neighbour', async () => {
  const { account, asAgent } = await makeScene();
  const conditions = { id: { equals: 1234567890123456800 } };
  const policy = { name: 'x', effect: 'approve', actions: ['*'], resources: ['*'], conditions };
  await account.must(201, 'POST', '/v1/policies', policy);
  const ask = (id: string) =>
    asAgent('POST', '/v1/permissions', `{${ACT}, "scope": {"id": ${id}}}`);
  expect((await ask('1234567890123456800')).body.status).toBe('approved');
  expect((await ask('1234567890123456801')).status).toBe(400);
});
