import { beforeAll, describe, expect, it } from 'vitest';
import { McpClient } from '../support/mcp';
import { REVISIONS } from '../support/mcp-revisions';
import { type Json, makeAgent, type TestAccount, World } from '../support/world';

const AGENT_TOOLS = [
  'request_permission',
  'wait_for_decision',
  'use_token',
  'report_outcome',
  'get_permission',
  'list_my_permissions',
] as const;
const USER_TOOLS = ['list_pending', 'get_permission', 'search_audit', 'simulate_policy'] as const;

const names = (tools: Json[]) => tools.map(({ name }) => name);

describe.each(REVISIONS)('with revision %s', (revision) => {
  let account: TestAccount;
  let world: World;
  let key: string;

  beforeAll(async () => {
    const scene = await makeAgent();
    ({ account, world } = scene);
    key = scene.agent.key;
  });

  it('lists the tools of the credential and its scopes', async () => {
    const listed = async (token: string) =>
      names(await (await McpClient.connect(world, token, revision)).tools());
    expect(await listed(key)).toEqual(AGENT_TOOLS);
    expect(await listed(account.token)).toEqual(USER_TOOLS);
    expect(await listed(await account.limitedToken('permissions:read'))).toEqual([
      'list_pending',
      'get_permission',
    ]);
    expect(await listed(await account.limitedToken('audit:read'))).toEqual(['search_audit']);
    expect(await listed(await account.limitedToken('policies:read'))).toEqual(['simulate_policy']);
    const others = [
      'permissions:decide',
      'tokens:use',
      'agents:write',
      'policies:write',
      'account:write',
    ];
    expect(await listed(await account.limitedToken(...others))).toEqual([]);
  });

  it('describes each tool without references, and says what it changes', async () => {
    const agent = await McpClient.connect(world, key, revision);
    const user = await McpClient.connect(world, account.token, revision);
    expect(agent.instructions).toContain('request_permission');
    expect(user.instructions).toContain('None of them decides');
    const changing = ['request_permission', 'use_token', 'report_outcome'];
    for (const tool of [...(await agent.tools()), ...(await user.tools())]) {
      expect(JSON.stringify(tool)).not.toMatch(/\$ref|\$defs/);
      expect(tool).toMatchObject({
        title: expect.stringMatching(/./),
        description: expect.stringMatching(/.{40}/),
        annotations: {
          title: tool.title,
          readOnlyHint: !changing.includes(tool.name),
          openWorldHint: false,
        },
        inputSchema: { type: 'object', additionalProperties: false },
        outputSchema: { type: 'object', required: expect.arrayContaining(['notice', 'next_step']) },
      });
    }
  });
});

// A tool is refused in the words of the operation that it calls.
describe('refuses as the HTTP API does', () => {
  const ASK = { action: 'a.b', resource: 'x:y' };
  const operations: [string, Json, string, string, Json?][] = [
    ['request_permission', ASK, 'POST', '/v1/permissions', ASK],
    ['list_pending', {}, 'GET', '/v1/permissions?status=pending'],
    ['search_audit', {}, 'GET', '/v1/audit'],
    ['simulate_policy', ASK, 'POST', '/v1/policies/simulate', ASK],
  ];

  it('a tool of the other credential', async () => {
    const { world, account, agent } = await makeAgent();
    const asAgent = await McpClient.connect(world, agent.key);
    const asUser = await McpClient.connect(world, account.token);
    const { id } = await agent.approved();
    for (const [client, tool, fields] of [
      [asAgent, 'list_pending', {}],
      [asAgent, 'search_audit', {}],
      [asAgent, 'simulate_policy', ASK],
      [asUser, 'request_permission', ASK],
      [asUser, 'wait_for_decision', { permission_id: id }],
      [asUser, 'use_token', { permission_id: id }],
      [asUser, 'report_outcome', { permission_id: id, status: 'failed' }],
      [asUser, 'list_my_permissions', {}],
    ] as const) {
      expect([tool, await client.refused(tool, fields)]).toEqual([
        tool,
        expect.stringMatching(
          /^Wrong credential \(wrong_credential\)\. This endpoint requires an? (agent key|user token)/,
        ),
      ]);
    }
    expect(await account.log()).toHaveLength(2);
  });

  it.each(operations)('%s', async (tool, fields, method, path, body) => {
    const { world, account } = await makeAgent();
    const token = await account.limitedToken('agents:read');
    const client = await McpClient.connect(world, token);
    const refusal = await world.call(method, path, { token, ...(body && { body }) });
    expect(refusal.status).toBe(403);
    expect(await client.refused(tool, fields)).toContain(
      `(${refusal.body.code}). ${refusal.body.detail}`,
    );
  });
});

describe('with a user token', () => {
  it('no tool shows the value of a token', async () => {
    const { world, account, agent } = await makeAgent();
    const { id, token } = await agent.approved();
    const client = await McpClient.connect(world, account.token);
    const read = await client.must('get_permission', { permission_id: id });
    expect(read).toMatchObject({
      next_step: `${id} is approved. There is nothing left to decide.`,
      permission: {
        console_url: `https://countersign.test/console/permissions/${id}`,
        token: { status: 'active' },
      },
    });
    expect(client.last?.cost.trips).toBe(1);
    expect(client.last?.text).not.toContain(token.value);
    await client.must('search_audit');
    expect(client.last?.text).not.toContain(token.value);
  });

  it('list_pending lists what waits, and leads to the page where people decide', async () => {
    const { world, account, agent } = await makeAgent();
    const client = await McpClient.connect(world, account.token);
    expect(await client.must('list_pending')).toMatchObject({
      permissions: [],
      next_step: expect.stringContaining('No request'),
    });
    const first = await agent.request({ preview: { title: 'First' } });
    world.advance(1);
    const second = await agent.request({ action: 'file.read' });
    await agent.approved();
    const late = await agent.request({ expires_in: 60 });
    world.advance(60_000);
    const page = await client.must('list_pending', { limit: 1 });
    expect(page).toMatchObject({ has_more: true, permissions: [{ id: second.id }] });
    expect(page.next_step).toContain('console_url');
    expect(client.last?.cost.trips).toBe(2);
    const rest = await client.must('list_pending', { limit: 1, cursor: page.next_cursor });
    expect(rest).toMatchObject({
      permissions: [{ id: first.id, written_by_agent: { title: 'First' } }],
    });
    expect((await client.must('list_pending', { action: 'file.read' })).permissions).toHaveLength(
      1,
    );
    expect((await client.must('list_pending', { agent_id: late.id })).permissions).toEqual([]);
    const { next_step } = await client.must('get_permission', { permission_id: first.id });
    expect(next_step).toContain(
      `No tool decides it: a person does so at https://countersign.test/console/permissions/${first.id}`,
    );
  });

  it('search_audit finds what GET /v1/audit finds', async () => {
    const { world, account, agent } = await makeAgent();
    const { id } = await agent.approved(
      { scope: { max: 5 }, input: 1 },
      { scope: { max: 3 }, reason: 'Fine' },
    );
    await agent.request({ action: 'file.read' });
    const client = await McpClient.connect(world, account.token);
    for (const fields of [
      {},
      { permission_id: id, order: 'asc' },
      { event_type: 'approve' },
      { action: 'file.read' },
      { order: 'asc', after_sequence: 1 },
      { start_date: '2026-01-31', end_date: '2026-01-31', limit: 2 },
    ]) {
      const { entries, has_more } = await client.must('search_audit', fields);
      const query = new URLSearchParams(
        Object.entries({ limit: 20, ...fields }).map(([name, value]) => [name, String(value)]),
      );
      const { body } = await account.must(200, 'GET', `/v1/audit?${query}`);
      expect(entries.map(({ id }: Json) => id)).toEqual(body.data.map(({ id }: Json) => id));
      expect(has_more).toBe(body.has_more);
    }
    const [request, approval] = (
      await client.must('search_audit', { permission_id: id, order: 'asc' })
    ).entries;
    expect(request).toMatchObject({
      event_type: 'request',
      sequence: 1,
      written_by_agent: { action: 'email.send', resource: 'mailbox:support', scope: { max: 5 } },
      written_by_people: { decision_reason: null },
    });
    expect(approval).toMatchObject({
      event_type: 'approve',
      decided_by: account.id,
      decided_via: 'api',
      written_by_people: { decision_reason: 'Fine', granted_scope: { max: 3 } },
    });
    expect(approval.written_by_agent.scope).toBeUndefined();
    expect(client.last?.cost.trips).toBe(2);
    expect(await client.refused('search_audit', { after_sequence: 1 })).toContain(
      '\n- after_sequence: needs order=asc\n',
    );
    expect(await client.refused('search_audit', { limit: 51 })).toContain(
      '\n- limit: must be a whole number from 1 to 50\n',
    );
    expect(await client.refused('search_audit', { start_date: 'yesterday' })).toContain(
      '\n- start_date: must be a date',
    );
  });

  it('simulate_policy answers as POST /v1/policies/simulate', async () => {
    const { world, account, agent } = await makeAgent();
    const client = await McpClient.connect(world, account.token);
    const policy = {
      name: 'Mail',
      effect: 'approve',
      actions: ['email.*'],
      resources: ['*'],
      agent_ids: [agent.id],
    };
    await account.must(201, 'POST', '/v1/policies', policy);
    for (const request of [
      { agent_id: agent.id, action: 'email.send', resource: 'mailbox:x' },
      { action: 'email.send', resource: 'mailbox:x' },
      { agent_id: 'x', action: 'file.read', resource: 'mailbox:x', scope: { a: 1 } },
    ]) {
      const {
        notice: _,
        next_step: __,
        ...simulation
      } = await client.must('simulate_policy', request);
      expect(client.last?.cost.trips).toBe(1);
      expect(simulation).toEqual(
        (await account.must(200, 'POST', '/v1/policies/simulate', request)).body,
      );
    }
  });

  it('nothing of another account is found', async () => {
    const world = new World();
    const { agent } = await makeAgent(world);
    const stranger = await world.account();
    const { id } = await agent.approved();
    await agent.request();
    const client = await McpClient.connect(world, stranger.token);
    expect(await client.refused('get_permission', { permission_id: id })).toMatch(
      /^Not found \(not_found\)/,
    );
    expect((await client.must('list_pending')).permissions).toEqual([]);
    expect((await client.must('list_pending', { agent_id: agent.id })).permissions).toEqual([]);
    for (const fields of [{}, { permission_id: id }, { agent_id: agent.id }]) {
      expect((await client.must('search_audit', fields)).entries).toEqual([]);
    }
  });
});
