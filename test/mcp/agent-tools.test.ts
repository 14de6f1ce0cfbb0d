import { describe, expect, it } from 'vitest';
import { McpClient } from '../support/mcp';
import { REVISIONS } from '../support/mcp-revisions';
import { ACT, makeSeriesScene, SERIES } from '../support/series';
import { type Json, makeAgent } from '../support/world';

const ASK = { action: 'email.send', resource: 'mailbox:support' };

/** An agent, and a client with its key. */
async function makeClient() {
  const scene = await makeAgent();
  return { ...scene, client: await McpClient.connect(scene.world, scene.agent.key) };
}

describe.each(REVISIONS)('with revision %s', (revision) => {
  it('an agent asks, waits, and takes its one use, in at most two round trips a call', async () => {
    const { world, account, agent } = await makeAgent();
    const client = await McpClient.connect(world, agent.key, revision);
    const input = { to: ['ada@example.com'], amount: 12.5 };
    const asked = await client.must('request_permission', {
      ...ASK,
      scope: { max: 5 },
      reason: 'Ticket 4711',
      input,
    });
    expect(client.last?.cost.trips).toBe(2);
    const { id } = asked.permission;
    expect(asked).toMatchObject({
      is_new: true,
      next_step: expect.stringContaining('Call wait_for_decision'),
      permission: {
        status: 'pending',
        console_url: `https://countersign.test/console/permissions/${id}`,
        token: null,
        written_by_agent: { ...ASK, scope: { max: 5 }, reason: 'Ticket 4711', input },
        written_by_people: { granted_scope: null },
      },
    });

    const approval = { scope: { max: 3 }, reason: 'Three are enough' };
    world.whileAsleep = async () => {
      world.whileAsleep = async () => undefined;
      await account.must(200, 'POST', `/v1/permissions/${id}/approve`, approval);
    };
    const decided = await client.must('wait_for_decision', { permission_id: id });
    expect(world.pauses).toEqual([500]);
    const { body: read } = await agent.must(200, 'GET', `/v1/permissions/${id}`);
    expect(decided).toMatchObject({
      next_step: expect.stringMatching(/call use_token.* as input.*narrower/s),
      permission: {
        status: 'approved',
        token: read.token,
        decided_by: account.id,
        written_by_people: { decision_reason: 'Three are enough', granted_scope: { max: 3 } },
      },
    });
    expect(read.token.value).toMatch(/^ey/);

    const used = await client.must('use_token', { permission_id: id, ...ASK, input });
    expect(client.last?.cost.trips).toBe(2);
    expect(used).toMatchObject({
      next_step: expect.stringContaining('Act now, once'),
      active: true,
      permission_id: id,
      agent_id: agent.id,
      uses: 1,
      remaining_uses: 0,
      written_by_agent: ASK,
      written_by_people: { granted_scope: { max: 3 } },
    });
    expect(used.value).toBeUndefined();
    expect(await client.refused('use_token', { permission_id: id, input })).toMatch(
      /^Token not active \(token_not_active\)\. The token has no use left.*\nreason: used\nRequest id: req_\w+$/s,
    );

    const log = await account.log();
    expect(log.map(({ event_type, ip_address }: Json) => [event_type, ip_address])).toEqual([
      ['request', ''],
      ['approve', ''],
      ['use', ''],
    ]);
    expect(await client.must('get_permission', { permission_id: id })).toMatchObject({
      next_step: expect.stringContaining('its token is used'),
      permission: { token: { status: 'used', uses: 1 } },
    });
    expect(client.last?.cost.trips).toBe(1);
  });
});

describe('request_permission', () => {
  it('finds the same request by its external id, with its token', async () => {
    const { account, client } = await makeClient();
    const ask = { ...ASK, external_id: 'call_1', input: [1] };
    const { permission } = await client.must('request_permission', ask);
    await account.must(200, 'POST', `/v1/permissions/${permission.id}/approve`, {});
    const again = await client.must('request_permission', ask);
    expect([again.is_new, again.permission.id]).toEqual([false, permission.id]);
    expect(again.permission.token.value).toMatch(/^ey/);
    expect(again.next_step).not.toContain('narrower');
    expect(await client.refused('request_permission', { ...ask, input: [2] })).toContain(
      '(external_id_conflict)',
    );
    expect(await account.log()).toHaveLength(2);
  });

  it('is answered with the decision of a policy', async () => {
    const { account, client } = await makeClient();
    const policy = { resources: ['*'], priority: 1 };
    await account.must(201, 'POST', '/v1/policies', {
      ...policy,
      name: 'Yes',
      effect: 'approve',
      actions: ['a.yes'],
    });
    await account.must(201, 'POST', '/v1/policies', {
      ...policy,
      name: 'No',
      effect: 'deny',
      actions: ['a.no'],
      reason: 'Never',
    });
    const yes = await client.must('request_permission', { action: 'a.yes', resource: 'x:y' });
    expect(yes.permission).toMatchObject({
      status: 'approved',
      token: { value: expect.stringMatching(/^ey/) },
    });
    expect(yes.next_step).not.toContain('as input');
    const no = await client.must('request_permission', { action: 'a.no', resource: 'x:y' });
    expect(no.permission).toMatchObject({
      status: 'denied',
      written_by_people: { decision_reason: 'Never' },
    });
    expect(no.next_step).toMatch(/Do not act.*Tell your user/);
  });

  it('names every invalid argument', async () => {
    const { account, client } = await makeClient();
    const text = await client.refused('request_permission', {
      action: 'email',
      resource: 1,
      preview: {},
      extra: true,
    });
    expect(text.split('\n').slice(0, -1)).toEqual([
      'Invalid request (invalid_request). Correct the fields in `errors`, then send the request again.',
      '- action: must be dotted, such as email.send',
      '- resource: must be text',
      '- preview.title: is required',
      expect.stringMatching(
        /^- extra: is not a field of this endpoint, which takes action, resource, /,
      ),
    ]);
    expect(await account.log()).toEqual([]);
  });

  it('names as many invalid arguments as fit into 8 KiB', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`unknown_${i}`, i]));
    const { client } = await makeClient();
    const text = await client.refused('request_permission', many);
    expect(text).toContain('- unknown_0: ');
    expect(text.length).toBeLessThan(8 * 1024);
  });
});

describe('wait_for_decision', () => {
  it('waits at most 25 seconds, by the schedule of the HTTP API', async () => {
    const { world, client } = await makeClient();
    const { permission } = await client.must('request_permission', ASK);
    const waited = await client.must('wait_for_decision', { permission_id: permission.id });
    expect(world.pauses).toEqual([500, 1_000, 2_000, 3_000, 4_000, 5_000, 5_000, 4_500]);
    expect(waited.permission.status).toBe('pending');
    expect(waited.next_step).toContain('Call wait_for_decision');
    world.pauses = [];
    await client.must('wait_for_decision', { permission_id: permission.id, seconds: 2 });
    expect(world.pauses).toEqual([500, 1_000, 500]);
    expect(
      await client.refused('wait_for_decision', { permission_id: permission.id, seconds: 26 }),
    ).toContain('- seconds: must be a whole number from 0 to 25');
  });

  it.each([
    ['DELETE', '', undefined, '(unauthorized)'],
    ['PUT', '', { is_active: false }, '(agent_inactive)'],
    ['POST', '/rotate-key', { revoke_immediately: true }, '(unauthorized)'],
  ])('ends when the agent loses access: %s %s %j', async (method, path, body, code) => {
    const { world, account, agent, client } = await makeClient();
    const { permission } = await client.must('request_permission', ASK);
    world.whileAsleep = () => account.call(method, `/v1/agents/${agent.id}${path}`, body);
    expect(await client.refused('wait_for_decision', { permission_id: permission.id })).toContain(
      code,
    );
    expect(world.pauses).toEqual([500]);
  });

  it('says what to do with a request that was denied, withdrawn or not decided in time', async () => {
    const { world, account, agent, client } = await makeClient();
    const denied = await agent.request();
    const withdrawn = await agent.request();
    const late = await agent.request({ expires_in: 60 });
    await account.must(200, 'POST', `/v1/permissions/${denied.id}/deny`, { reason: 'No' });
    await agent.must(200, 'POST', `/v1/permissions/${withdrawn.id}/withdraw`);
    world.advance(50_000);
    const next = async ({ id }: Json) =>
      (await client.must('wait_for_decision', { permission_id: id })).next_step;
    expect(await next(denied)).toMatch(/is denied\. Do not act/);
    expect(await next(withdrawn)).toMatch(/is expired: .* Do not act/);
    expect(world.pauses).toEqual([]);
    expect(await next(late)).toMatch(/is expired: .* Do not act/);
    expect(world.pauses.reduce((sum, pause) => sum + pause, 0)).toBeLessThan(25_000);
  });
});

describe('use_token', () => {
  it('takes several uses, and gives the token as long as it has uses left', async () => {
    const { agent, client } = await makeClient();
    const { id, token } = await agent.approved({ max_uses: 2 });
    const first = await client.must('use_token', { permission_id: id });
    expect([first.uses, first.remaining_uses, first.value]).toEqual([1, 1, token.value]);
    expect(first.next_step).toContain('1 left');
    const second = await client.must('use_token', { permission_id: id });
    expect([second.uses, second.remaining_uses, second.value]).toEqual([2, 0, undefined]);
  });

  it('refuses what was not approved, and writes nothing', async () => {
    const { world, account, agent, client } = await makeClient();
    const { id } = await agent.approved({ input: { n: 1 } });
    const plain = await agent.approved();
    const pending = await agent.request();
    const revoked = await agent.approved();
    await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: revoked.token.id });
    const short = await agent.approved({ token_ttl: 30 });
    const before = await account.log();
    const reason = async (fields: Json) =>
      /\nreason: (\w+)/.exec(await client.refused('use_token', fields))?.[1];
    expect(await reason({ permission_id: id, input: { n: 2 } })).toBe('mismatch');
    expect(await reason({ permission_id: id })).toBe('mismatch');
    expect(await reason({ permission_id: id, input: { n: 1 }, action: 'email.read' })).toBe(
      'mismatch',
    );
    expect(await reason({ permission_id: id, input: { n: 1 }, resource: 'mailbox:other' })).toBe(
      'mismatch',
    );
    expect(await reason({ permission_id: plain.id, input: null })).toBe('mismatch');
    expect(await reason({ permission_id: pending.id })).toBe('unknown');
    expect(await reason({ permission_id: revoked.id })).toBe('revoked');
    world.advance(30_000);
    expect(await reason({ permission_id: short.id })).toBe('expired');
    const changed = await client.refused('use_token', { permission_id: id, input: { n: 2 } });
    expect(changed).toContain('The input is not the one that was approved.');
    const digest = 'sha-256:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU';
    expect(
      await client.refused('use_token', {
        permission_id: id,
        input: { n: 1 },
        input_digest: digest,
      }),
    ).toContain('- input_digest: is not the digest of `input`');
    expect(await account.log()).toEqual(before);
    await client.must('use_token', { permission_id: id, input: { n: 1 } });
  });

  it('gives the last use to one of two calls', async () => {
    const { agent, client } = await makeClient();
    const { id } = await agent.approved();
    const results = await Promise.all(
      [1, 2].map(() => client.call('use_token', { permission_id: id })),
    );
    expect(results.filter(({ isError }) => isError)).toHaveLength(1);
  });
});

it('list_my_permissions lists the own ones with filters and pages, without token values', async () => {
  const { world, account, agent, client } = await makeClient();
  const stranger = await account.agent();
  await stranger.request();
  const approved = await agent.approved({ input: 1 });
  world.advance(1);
  const pending = await agent.request({ external_id: 'mine' });
  const page = await client.must('list_my_permissions', { limit: 1 });
  expect(page.permissions.map(({ id }: Json) => id)).toEqual([pending.id]);
  const rest = await client.must('list_my_permissions', { limit: 1, cursor: page.next_cursor });
  expect(rest).toMatchObject({
    has_more: false,
    permissions: [{ id: approved.id, token: { status: 'active' } }],
  });
  expect(rest.permissions[0].token.value).toBeUndefined();
  expect(rest.permissions[0].written_by_agent.input).toBeUndefined();
  const found = await client.must('list_my_permissions', {
    external_id: 'mine',
    status: 'pending',
  });
  expect(found.permissions).toHaveLength(1);
  expect(await client.refused('list_my_permissions', { cursor: 'x' })).toContain(
    '(invalid_cursor)',
  );
  expect(await client.refused('list_my_permissions', { agent_id: stranger.id })).toContain(
    '- agent_id: is not a field',
  );
});

it('an agent finds nothing of another agent or account', async () => {
  const { world, account, client } = await makeClient();
  const other = await (await world.account()).agent();
  const colleague = await account.agent();
  for (const owner of [other, colleague]) {
    const { id } = await owner.approved();
    for (const tool of ['get_permission', 'wait_for_decision', 'use_token']) {
      expect(await client.refused(tool, { permission_id: id })).toMatch(/^Not found \(not_found\)/);
    }
  }
  for (const id of [
    'perm_01h2xcejqtf2nbrexx3vqjhp41',
    'x',
    '',
    'agent_01h2xcejqtf2nbrexx3vqjhp41',
  ]) {
    expect(await client.refused('get_permission', { permission_id: id })).toMatch(/^Not found/);
  }
  expect(await client.refused('get_permission', { permission_id: 1 })).toContain(
    '- permission_id: must be text',
  );
  expect(await client.refused('get_permission')).toContain('- permission_id: is required');
});

describe('request_permission with a series', () => {
  it('says how many like it follow, and shows what a person gave and how far it is', async () => {
    const scene = await makeSeriesScene();
    const { world, agent, ada } = scene;
    const client = await McpClient.connect(world, agent.key);
    const asked = await client.must('request_permission', { ...ACT, series: SERIES });
    const { id } = asked.permission;
    expect(asked.permission).toMatchObject({
      status: 'pending',
      written_by_agent: { series: SERIES },
      written_by_people: { granted_series: null },
    });
    const given = { ...SERIES, requests: 2 };
    const approval = { token: ada.token, body: { series: given } };
    await world.must(200, 'POST', `/v1/permissions/${id}/approve`, approval);
    for (const status of ['approved', 'pending'])
      expect((await client.must('request_permission', ACT)).permission.status).toBe(status);
    const { permission } = await client.must('get_permission', { permission_id: id });
    expect(permission.written_by_people.granted_series).toEqual(given);
    expect(permission.series_usage).toMatchObject({ requests: 2 });
    const wrong = { ...ACT, series: { ...SERIES, requests: 1 } };
    expect(await client.refused('request_permission', wrong)).toContain('series.requests');
  });
});

describe('report_outcome', () => {
  it('says what happened after the use, and is refused before it', async () => {
    const { account, client } = await makeClient();
    const ask = { ...ASK, reports_outcome: true };
    const { id } = (await client.must('request_permission', ask)).permission;
    await account.must(200, 'POST', `/v1/permissions/${id}/approve`, {});
    const report = { permission_id: id, status: 'failed', summary: 'Bounced \u202e' };
    expect(await client.refused('report_outcome', report)).toContain('(conflict)');
    const used = await client.must('use_token', { permission_id: id });
    expect(used.next_step).toContain('When the act is over, call report_outcome.');
    const read = await client.must('get_permission', { permission_id: id });
    expect([read.next_step, read.permission.outcome]).toEqual([
      expect.stringContaining('call report_outcome'),
      { status: 'awaited', reported_at: null, reported_by: null },
    ]);
    const reported = await client.must('report_outcome', report);
    expect(client.last?.cost.trips).toBe(2);
    expect(reported.permission).toMatchObject({
      outcome: { status: 'failed', reported_by: expect.stringMatching(/^agent_/) },
      written_by_agent: { outcome_summary: 'Bounced [U+202E]' },
    });
    const again = await client.must('get_permission', { permission_id: id });
    expect(again.next_step).toContain('The outcome of the act was failed.');
    expect(await client.refused('report_outcome', { ...report, status: 'succeeded' })).toContain(
      '(conflict)',
    );
    expect(await client.refused('report_outcome', { ...report, status: 'awaited' })).toContain(
      'status',
    );
    const { permissions } = await client.must('list_my_permissions', { outcome: 'failed' });
    expect(permissions.map((each: Json) => each.id)).toEqual([id]);
  });

  it('has nothing to say of a permission of another agent, or of one without a promise', async () => {
    const { account, agent, client } = await makeClient();
    const plain = await agent.approved();
    await client.must('use_token', { permission_id: plain.id });
    const other = await (await account.agent()).approved({ reports_outcome: true });
    const report = (id: string) => ({ permission_id: id, status: 'succeeded' });
    expect(await client.refused('report_outcome', report(plain.id))).toContain('(conflict)');
    for (const id of [other.id, 'perm_x'])
      expect(await client.refused('report_outcome', report(id))).toContain('(not_found)');
  });
});
