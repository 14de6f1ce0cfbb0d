import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { depth } from '../support/depth';
import { dumpTables } from '../support/tables';
import * as values from '../support/values';
import { makeWebhook } from '../support/webhooks';
import { type Answer, type Json, type TestAccount, type TestAgent, World } from '../support/world';

interface Scene {
  world: World;
  account: TestAccount;
  agent: TestAgent;
  /** The id of a pending permission. */
  pending: string;
  webhook: string;
  channel: string;
  connection: string;
}

interface Endpoint {
  method: string;
  path: (scene: Scene) => string;
  by: 'operator' | 'account' | 'agent';
  /** The required fields. */
  base?: Json;
  fields: Record<string, values.Field>;
  /** Fields of the answer that no body may set. */
  owned: string[];
}

const { textField, wordField, numberField, booleanField, objectField } = values;
const plan = wordField('free', 'pro', 'team', 'enterprise');
const retention = {
  ...numberField(1, 2_557),
  rest: { email: 'owner@example.com', plan: 'enterprise' },
};
const userToken = {
  name: textField(1, 255),
  scopes: values.scopesField,
  expires_at: values.futureField,
};
const nullable = (field: values.Field) => ({
  good: [...field.good, null],
  bad: field.bad.filter((value) => value !== null),
});

const ofWebhooks = [
  'id',
  'user_id',
  'secret',
  'disabled_reason',
  'is_slow',
  'created_at',
  'updated_at',
];
const webhook = {
  url: {
    good: ['https://a.co', `https://example.com/${'x'.repeat(2_028)}`],
    bad: [
      ...values.comparedField(2_048).bad,
      '',
      'x',
      'http://example.com/',
      'https://127.0.0.1/',
      'https://localhost',
    ],
  },
  description: nullable(textField(0, 2_000)),
  events: {
    good: [
      ['audit.created'],
      ['webhook.test', 'report.failed', 'report.completed', 'audit.export.failed'],
    ],
    bad: [
      'audit.created',
      1,
      null,
      {},
      [],
      ['x'],
      ['AUDIT.CREATED'],
      [''],
      [null],
      ['webhook.test', 'webhook.test'],
    ],
  },
  agent_ids: {
    good: [null],
    bad: [
      'x',
      1,
      true,
      {},
      [],
      ['x'],
      [null],
      [1],
      ['agent_01h455vb4pex5vsknk084sn02q'],
      Array(101).fill('x'),
    ],
  },
  is_active: booleanField(),
};

const ofConnections = ['id', 'user_id', 'account', 'created_by', 'created_at', 'updated_at'];
const connection = {
  name: textField(1, 255),
  base_url: {
    good: ['https://mail.example.com', `https://mail.example.com/${'x'.repeat(2_023)}`],
    bad: [
      ...values.comparedField(2_048).bad,
      ...['', 'x', 'http://example.com/', 'https://127.0.0.1/', 'https://localhost'],
    ],
  },
  auth: {
    good: [{ type: 'none' }],
    bad: ['none', 1, null, [], true, [{ type: 'none' }]],
  },
  rules: {
    good: [[], [{ effect: 'deny' }], Array(100).fill({ effect: 'ask' })],
    bad: ['x', 1, null, true, {}, Array(101).fill({ effect: 'ask' })],
  },
  agent_ids: { ...webhook.agent_ids, good: [], bad: [...webhook.agent_ids.bad.slice(0, 5), null] },
  forward_headers: {
    good: [[], ['Accept'], Array.from({ length: 50 }, (_, i) => `X-${i}`)],
    bad: ['x', 1, null, true, {}, Array(51).fill('x')],
  },
  wait: numberField(0, 60),
  timeout: numberField(1, 300),
  repeat_after: numberField(60, 86_400),
  is_active: booleanField(),
};

const ofChannels = [
  'id',
  'user_id',
  'inbound_url',
  'disabled_reason',
  'created_at',
  'updated_at',
  'url',
  'secret',
];
const channel = {
  name: textField(1, 255),
  events: {
    good: [
      ['permission.requested'],
      ['webhook.disabled', 'permission.expired', 'permission.decided'],
    ],
    bad: [
      'permission.requested',
      1,
      null,
      {},
      [],
      ['x'],
      ['audit.created'],
      [null],
      ['webhook.disabled', 'webhook.disabled'],
    ],
  },
  filter: {
    good: [null, {}, { actions: ['a.*'] }, { actions: null, agent_ids: null }],
    bad: [
      'x',
      1,
      true,
      [],
      { actions: [] },
      { actions: 'a' },
      { agent_ids: [] },
      { agent_ids: ['x'] },
      { x: 1 },
    ],
  },
  is_active: booleanField(),
};

const ENDPOINTS: Record<string, Endpoint> = {
  'start export': {
    method: 'POST',
    path: () => '/v1/audit/export',
    by: 'account',
    base: { start_date: '2026-01-01', end_date: '2026-12-31' },
    fields: {
      // Not after today, which is when a later end is taken to be.
      start_date: {
        ...values.dateField,
        good: ['2026-01-15', '2026-01-15T00:00:00Z', '2026-01-15t01:00:00.000+01:00'],
        required: true,
      },
      end_date: { ...values.dateField, required: true },
      format: wordField('csv', 'json', 'parquet'),
      agent_id: values.idField,
      event_types: {
        good: [['deny'], ['request', 'approve', 'deny', 'use', 'expire', 'revoke']],
        bad: ['deny', 1, null, {}, [], ['x'], ['DENY'], [''], [null], [['deny']], ['deny', 'deny']],
      },
      include_details: booleanField(),
    },
    owned: [
      'export_id',
      'id',
      'status',
      'download_url',
      'expires_at',
      'row_count',
      'sha256',
      'error',
      'created_at',
    ],
  },
  'start report': {
    method: 'POST',
    path: () => '/v1/audit/reports/compliance',
    by: 'account',
    base: { report_type: 'gdpr', period: { start: '2026-01-01', end: '2026-01-31' } },
    fields: {
      report_type: {
        ...wordField('soc2_type1', 'soc2_type2', 'iso27001', 'hipaa', 'gdpr', 'eu_ai_act'),
        required: true,
      },
      period: { ...values.periodField, required: true },
      format: wordField('pdf', 'json'),
    },
    owned: [
      'report_id',
      'id',
      'status',
      'download_url',
      'expires_at',
      'sha256',
      'error',
      'created_at',
      'agent_id',
    ],
  },
  'create account': {
    method: 'POST',
    path: () => '/v1/admin/users',
    by: 'operator',
    base: { email: 'owner@example.com' },
    fields: {
      email: {
        required: true,
        good: [
          'a@b.co',
          ' a.b+c@example.com ',
          `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.example.com`,
        ],
        bad: [
          1,
          true,
          null,
          [],
          {},
          '',
          'x',
          'a@',
          '@b.co',
          'a b@c.de',
          'a@b.co,c@d.eu',
          'a\0@b.co',
          '\ud800@b.co',
        ],
      },
      name: textField(1, 255),
      plan,
      audit_retention_days: retention,
    },
    owned: ['id', 'is_active', 'token', 'created_at', 'updated_at', 'user_id', 'number'],
  },
  'update account': {
    method: 'PATCH',
    path: ({ account }) => `/v1/admin/users/${account.id}`,
    by: 'operator',
    base: { name: 'Owner' },
    fields: {
      name: nullable(textField(1, 255)),
      plan,
      audit_retention_days: { ...retention, rest: { plan: 'enterprise' } },
      is_active: booleanField(),
    },
    owned: ['id', 'email', 'token', 'created_at', 'updated_at', 'erased_at'],
  },
  'continue restored log': {
    method: 'PUT',
    path: ({ account }) => `/v1/admin/users/${account.id}/log/restoration`,
    by: 'operator',
    base: { shard: '00', restored_to: '2026-01-31T12:00:00Z' },
    fields: {
      shard: {
        good: ['00', '01', 'zZ'],
        bad: ['', '0', '000', '-1', 'ä1', 0, null, true, {}, []],
        required: true,
      },
      restored_to: { ...values.pastField, required: true },
    },
    owned: ['id', 'set_aside', 'has_more', 'size', 'due_at', 'held_until'],
  },
  'create token by the operator': {
    method: 'POST',
    path: ({ account }) => `/v1/admin/users/${account.id}/tokens`,
    by: 'operator',
    fields: userToken,
    owned: ['id', 'user_id', 'token', 'token_prefix', 'last_used_at', 'created_at'],
  },
  'create token': {
    method: 'POST',
    path: () => '/v1/me/tokens',
    by: 'account',
    fields: userToken,
    owned: ['id', 'user_id', 'account', 'token', 'token_prefix', 'last_used_at', 'created_at'],
  },
  'create agent': {
    method: 'POST',
    path: () => '/v1/agents',
    by: 'account',
    base: { name: 'Mailer' },
    fields: {
      name: { ...textField(1, 255), required: true },
      description: textField(0, 2_000),
      metadata: objectField(16 * 1024),
    },
    owned: [
      'id',
      'user_id',
      'api_key',
      'api_key_prefix',
      'is_active',
      'last_activity_at',
      'created_at',
      'updated_at',
    ],
  },
  'update agent': {
    method: 'PUT',
    path: ({ agent }) => `/v1/agents/${agent.id}`,
    by: 'account',
    base: { name: 'Mailer' },
    fields: {
      name: textField(1, 255),
      description: nullable(textField(0, 2_000)),
      metadata: objectField(16 * 1024),
      is_active: booleanField(),
    },
    owned: [
      'id',
      'user_id',
      'api_key',
      'api_key_prefix',
      'last_activity_at',
      'created_at',
      'updated_at',
    ],
  },
  'rotate key': {
    method: 'POST',
    path: ({ agent }) => `/v1/agents/${agent.id}/rotate-key`,
    by: 'account',
    fields: { grace_period: numberField(0, 2_592_000), revoke_immediately: booleanField() },
    owned: ['id', 'api_key', 'old_key_expires_at'],
  },
  'create webhook': {
    method: 'POST',
    path: () => '/v1/webhooks',
    by: 'account',
    base: { url: 'https://hooks.example.com/' },
    fields: { ...webhook, url: { ...webhook.url, required: true } },
    owned: [...ofWebhooks, 'name'],
  },
  'update webhook': {
    method: 'PUT',
    path: ({ webhook }) => `/v1/webhooks/${webhook}`,
    by: 'account',
    base: { description: 'Changed' },
    fields: webhook,
    owned: ofWebhooks,
  },
  'create connection': {
    method: 'POST',
    path: () => '/v1/connections',
    by: 'account',
    // No account has this agent: what is accepted is tested with the update.
    base: {
      name: 'Mail',
      base_url: 'https://mail.example.com',
      agent_ids: ['agent_01h455vb4pex5vsknk084sn02q'],
    },
    fields: {
      ...Object.fromEntries(
        Object.entries(connection).map(([name, field]) => [name, { ...field, good: [] }]),
      ),
      name: { ...connection.name, good: [], required: true },
      base_url: { ...connection.base_url, good: [], required: true },
      agent_ids: { ...connection.agent_ids, required: true },
      slug: { good: [], bad: [...values.comparedField(64).bad, '', 'A', 'a b', 'é', 'a/b'] },
    },
    owned: ofConnections,
  },
  'update connection': {
    method: 'PUT',
    path: ({ connection }) => `/v1/connections/${connection}`,
    by: 'account',
    base: { name: 'Changed' },
    fields: connection,
    owned: [...ofConnections, 'slug'],
  },
  'test connection': {
    method: 'POST',
    path: ({ connection }) => `/v1/connections/${connection}/test`,
    by: 'account',
    base: { path: '/' },
    fields: {
      path: {
        good: [],
        bad: [...values.comparedField(2_048).bad, '', 'x', '/a b', '//', '/../'],
        required: true,
      },
    },
    owned: ['method', 'headers', 'url'],
  },
  'create channel': {
    method: 'POST',
    path: () => '/v1/channels',
    by: 'account',
    base: { kind: 'email', name: 'Mail' },
    fields: { ...channel, name: { ...channel.name, required: true } },
    owned: ofChannels,
  },
  'update channel': {
    method: 'PUT',
    path: ({ channel }) => `/v1/channels/${channel}`,
    by: 'account',
    base: { name: 'Changed' },
    fields: channel,
    owned: [...ofChannels, 'kind'],
  },
  'test channel': {
    method: 'POST',
    path: ({ channel }) => `/v1/channels/${channel}/test`,
    by: 'account',
    fields: {},
    owned: ['event', 'id', 'payload'],
  },
  'rotate secret': {
    method: 'POST',
    path: ({ webhook }) => `/v1/webhooks/${webhook}/rotate-secret`,
    by: 'account',
    fields: {},
    owned: ['secret', 'id', 'grace_period'],
  },
  'test webhook': {
    method: 'POST',
    path: ({ webhook }) => `/v1/webhooks/${webhook}/test`,
    by: 'account',
    fields: {},
    owned: ['event', 'id', 'payload'],
  },
  'request permission': {
    method: 'POST',
    path: () => '/v1/permissions',
    by: 'agent',
    base: { action: 'a.b', resource: 'c:d' },
    fields: {
      action: { ...values.actionField, required: true },
      resource: { ...values.resourceField, required: true },
      scope: objectField(2 * 1024),
      reason: textField(0, 1_000),
      expires_in: numberField(60, 604_800),
      token_ttl: numberField(30, 604_800),
      max_uses: numberField(1, 1_000),
      input: values.anyField(16 * 1024),
      input_digest: values.digestField,
      preview: values.previewField,
      external_id: values.visibleField,
    },
    owned: [
      ...[
        'id',
        'agent_id',
        'status',
        'granted_scope',
        'decided_by',
        'policy_id',
        'token',
        'expires_at',
        'user_id',
      ],
      ...['title', 'preview_digest'],
    ],
  },
  approve: {
    method: 'POST',
    path: ({ pending }) => `/v1/permissions/${pending}/approve`,
    by: 'account',
    fields: {
      reason: textField(0, 1_000),
      scope: objectField(2 * 1024),
      token_ttl: numberField(30, 604_800),
      max_uses: numberField(1, 1_000),
    },
    owned: ['id', 'status', 'decided_by', 'policy_id', 'granted_scope', 'expires_in', 'action'],
  },
  deny: {
    method: 'POST',
    path: ({ pending }) => `/v1/permissions/${pending}/deny`,
    by: 'account',
    fields: { reason: textField(0, 1_000) },
    owned: ['id', 'status', 'decided_by', 'policy_id', 'scope'],
  },
  'use token': {
    method: 'POST',
    path: () => '/v1/tokens/use',
    by: 'agent',
    base: { token: 'x' },
    fields: {
      token: { ...values.tokenField, required: true },
      action: values.comparedField(128),
      resource: values.comparedField(512),
      input_digest: values.comparedField(128),
    },
    owned: ['token_id', 'uses', 'agent_id', 'scope', 'active'],
  },
  'revoke token': {
    method: 'POST',
    path: () => '/v1/tokens/revoke',
    by: 'account',
    base: { token_id: 'x' },
    fields: {
      token: { ...values.tokenField, rest: {} },
      token_id: { ...values.idField, rest: {} },
      token_type_hint: { ...values.idField, good: ['access_token', 'refresh_token'] },
      reason: textField(0, 1_000),
    },
    owned: ['status', 'agent_id', 'permission_id'],
  },
};

async function makeScene(): Promise<Scene> {
  const world = new World();
  const account = await world.account({ plan: 'enterprise' });
  const agent = await account.agent();
  const { id } = await agent.request({ token_ttl: 604_800, max_uses: 1_000 });
  const webhook = await makeWebhook(account);
  const { body: channel } = await account.must(201, 'POST', '/v1/channels', {
    kind: 'email',
    name: 'Mail',
  });
  const { body: connection } = await account.must(201, 'POST', '/v1/connections', {
    name: 'Mail',
    base_url: 'https://mail.example.com',
    agent_ids: [agent.id],
  });
  const made = { webhook: webhook.id, channel: channel.id, connection: connection.id };
  return { world, account, agent, pending: id, ...made };
}

function send(scene: Scene, { method, path, by }: Endpoint, body: Json): Promise<Answer> {
  const token = {
    operator: scene.world.env.ADMIN_TOKEN ?? '',
    account: scene.account.token,
    agent: scene.agent.key,
  }[by];
  const headers = { 'Content-Type': 'application/json' };
  return scene.world.call(method, path(scene), { token, headers, raw: values.writeBody(body) });
}

function expectRefusal({ status, body, text }: Answer, field: string, sent: Json) {
  const what = values.writeBody(sent).slice(0, 100);
  expect([status, body.code, what]).toEqual([400, 'invalid_request', what]);
  const paths: string[] = body.errors.map(({ path }: Json) =>
    path.split('.').slice(0, 2).join('.'),
  );
  expect([new Set(paths), what]).toEqual([new Set([field]), what]);
  for (const { message } of body.errors) expect(message).toMatch(/./);
  expect(text.length).toBeLessThan(5_000);
}

/** A scene for requests that are refused and so change nothing. */
let shared: Scene;

beforeAll(async () => {
  shared = await makeScene();
});

// These tests come before any that write, because they compare all tables.
describe.each(Object.entries(ENDPOINTS))('%s refuses', (_, endpoint) => {
  const base = endpoint.base ?? {};
  const fields = Object.entries(endpoint.fields);

  async function expectRefusals(bodies: [field: string, body: Json][]) {
    const before = await dumpTables(env.DB);
    for (const [field, body] of bodies)
      expectRefusal(await send(shared, endpoint, body), field, body);
    expect(await dumpTables(env.DB)).toEqual(before);
  }

  it.each(depth.cases(fields, 6))(
    'every value of %s that is out of bounds or of another type',
    async (name, { bad, rest = base }) => {
      expect(bad.length).toBeGreaterThan(5);
      await expectRefusals(bad.map((value) => [`body.${name}`, { ...rest, [name]: value }]));
    },
  );

  it.each(fields.filter(([, { required }]) => required))('a body without %s', async (name) => {
    const { [name]: __, ...body } = base;
    await expectRefusals([[`body.${name}`, body]]);
  });

  it('unknown fields, and fields that only the service sets', async () => {
    const foreign = [
      ...endpoint.owned,
      'nmae',
      'Name',
      '',
      'constructor',
      '__proto__',
      'toString',
      'errors',
    ];
    await expectRefusals(
      foreign.map((name) => [
        `body.${name}`,
        Object.fromEntries([...Object.entries(base), [name, null]]),
      ]),
    );
  });

  it('a body that is not an object', async () => {
    await expectRefusals(
      [null, [], [base], 1, true, 'x', values.HUGE].map((body) => ['body', body as Json]),
    );
  });
});

const takesSome = ([, { fields }]: [string, Endpoint]) =>
  Object.values(fields).some(({ good }) => good.length > 0);

describe.runIf(depth.isDeep).each(Object.entries(ENDPOINTS).filter(takesSome))(
  '%s accepts',
  (_, endpoint) => {
    const fields = Object.entries(endpoint.fields).filter(([, { good }]) => good.length > 0);

    it.each(fields)(
      'every valid value of %s, up to its bounds',
      async (name, { good, rest = endpoint.base ?? {} }) => {
        for (const value of good) {
          const scene = await makeScene();
          const { status, text } = await send(scene, endpoint, { ...rest, [name]: value });
          expect([Math.floor(status / 100), text.slice(0, 300)]).toEqual([2, text.slice(0, 300)]);
        }
      },
    );
  },
);
