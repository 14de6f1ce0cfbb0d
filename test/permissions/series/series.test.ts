import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { depth } from '../../support/depth';
import { checkIntegrity } from '../../support/integrity';
import { makeMember } from '../../support/members';
import { approve, refusal } from '../../support/reviews';
import {
  ACT,
  changeMember,
  endings,
  giveSeries,
  makeSeriesScene,
  SERIES,
  type SeriesScene,
  statusOf,
  usageOf,
} from '../../support/series';
import type { Json } from '../../support/world';

describe('a series', () => {
  it('approves the next requests like the first one, as many as were given', async () => {
    const scene = await makeSeriesScene();
    const { agent, account, ada, world } = scene;
    const first = await giveSeries(scene);
    expect(first).toMatchObject({ status: 'approved', series: SERIES, granted_series: SERIES });
    expect(await usageOf(scene, first.id)).toEqual({
      requests: 1,
      expires_at: new Date(world.now + 3_600_000).toISOString(),
      ended_at: null,
    });
    const second = await agent.request({ ...ACT, scope: { max_amount: 20, currency: 'EUR' } });
    expect(second).toMatchObject({
      status: 'approved',
      decided_by: first.id,
      decision_reason: null,
      policy_id: null,
      granted_scope: { max_amount: 20, currency: 'EUR' },
      granted_series: null,
      review: null,
      token: { status: 'active', max_uses: 1 },
    });
    const log = await account.log(`&agent_id=${agent.id}&event_type=approve`);
    expect(log.map(({ details }) => details)).toMatchObject([
      { decided_by: ada.id, decided_via: 'api', granted_series: SERIES },
      {
        decided_by: first.id,
        decided_via: 'series',
        policy_id: null,
        series: { permission_id: first.id, given_by: [ada.id] },
      },
    ]);
    world.advance(1_000);
    expect([await statusOf(agent), await statusOf(agent), await statusOf(agent)]).toEqual([
      'approved',
      'approved',
      'pending',
    ]);
    expect(await usageOf(scene, first.id)).toMatchObject({
      requests: 4,
      ended_at: new Date(world.now).toISOString(),
    });
    await checkIntegrity(env.DB);
  });

  it('ends with its time, to the millisecond', async () => {
    const scene = await makeSeriesScene();
    const { agent, world } = scene;
    const first = await giveSeries(scene, { ...SERIES, expires_in: 60 });
    world.advance(59_999);
    expect(await statusOf(agent)).toBe('approved');
    world.advance(1);
    expect(await statusOf(agent)).toBe('pending');
    const { requests, expires_at, ended_at } = await usageOf(scene, first.id);
    expect([requests, expires_at]).toEqual([2, ended_at]);
    await world.sweep();
    expect(await endings(scene)).toEqual([]);
  });

  it('is ended by anybody who may decide, once, with a record', async () => {
    const scene = await makeSeriesScene();
    const { agent, world, ada, account } = scene;
    const { id } = await giveSeries(scene);
    const end = (token = ada.token) =>
      world.call('DELETE', `/v1/permissions/${id}/series`, { token });
    const auditor = await makeMember(account, 'auditor');
    expect(refusal(await end(auditor.token))).toEqual([403, 'insufficient_scope']);
    const other = await makeSeriesScene();
    expect(refusal(await end(other.ada.token))).toEqual([404, 'not_found']);
    world.advance(1_000);
    expect((await end()).status).toBe(204);
    expect(refusal(await end())).toEqual([404, 'not_found']);
    expect(await statusOf(agent)).toBe('pending');
    expect(await usageOf(scene, id)).toMatchObject({
      requests: 1,
      ended_at: new Date(world.now).toISOString(),
    });
    await world.sweep();
    expect(await endings(scene)).toEqual([[ada.id, id]]);
  });
});

describe('a series costs', () => {
  it('one row when it is given, and one for each request that it approves', async () => {
    const scene = await makeSeriesScene();
    const { agent, ada, account, world } = scene;
    const ask = async (fields: Json = {}) => {
      const { cost, body } = await agent.must(201, 'POST', '/v1/permissions', {
        ...ACT,
        ...fields,
      });
      return { ...cost, ...body };
    };
    const asked = [];
    for (let n = 0; n < 4; n++) asked.push(await ask({ series: { ...SERIES, requests: 5 } }));
    const approvals = [];
    for (const [n, { id }] of asked.entries()) {
      const body = n === 3 ? { series: { ...SERIES, requests: 5 } } : {};
      const path = `/v1/permissions/${id}/approve`;
      approvals.push((await world.must(200, 'POST', path, { token: ada.token, body })).cost);
    }
    const [, , plain, giving] = approvals;
    expect(giving?.written).toBe((plain?.written ?? 0) + 1);
    expect(giving?.trips).toBe(2);
    const name = { name: 'Files', effect: 'approve', actions: ['file.*'], resources: ['*'] };
    await account.must(201, 'POST', '/v1/policies', name);
    await ask({ action: 'file.read' });
    const byPolicy = await ask({ action: 'file.read' });
    const bySeries = [await ask(), await ask(), await ask(), await ask()];
    expect(bySeries.map(({ status }) => status)).toEqual(Array(4).fill('approved'));
    expect(bySeries.map(({ written }) => written - byPolicy.written)).toEqual([1, 1, 1, 1]);
    expect(bySeries.map(({ trips }) => trips)).toEqual([2, 2, 2, 2]);
  });

  it('nothing where no series is asked for', async () => {
    const { agent, account, owners } = await makeSeriesScene();
    await agent.request();
    const { cost } = await agent.must(201, 'POST', '/v1/permissions', ACT);
    expect(cost.trips).toBe(2);
    const owner_id = owners[1]?.id;
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id });
    expect(await env.DB.prepare('select count(*) as n from series_checks').first('n')).toBe(0);
  });
});

describe('a series ends for good', () => {
  it.each<[string, (scene: SeriesScene) => Promise<unknown>]>(
    depth.cases(
      [
        [
          'its giver is suspended',
          ({ account, ada }) => changeMember(account, ada, { status: 'suspended' }),
        ],
        [
          'its giver is suspended and active again',
          async ({ account, ada }) => {
            await changeMember(account, ada, { status: 'suspended' });
            await changeMember(account, ada, { status: 'active' });
          },
        ],
        [
          'its giver gets another role, and the old one again',
          async ({ account, ada }) => {
            await changeMember(account, ada, { role: 'developer' });
            await changeMember(account, ada, { role: 'approver' });
          },
        ],
        [
          'its giver becomes an admin',
          ({ account, ada }) => changeMember(account, ada, { role: 'admin' }),
        ],
        [
          'its giver is removed',
          ({ account, ada }) => account.must(204, 'DELETE', `/v1/members/${ada.id}`),
        ],
        [
          'the agent gets an owner, even if it gets the old one again',
          async ({ account, agent, owners: [first, second] }) => {
            await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: second?.id });
            await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: first?.id });
          },
        ],
      ],
      2,
    ),
  )('if %s', async (_, end) => {
    const scene = await makeSeriesScene();
    const { account, agent, world } = scene;
    const [given, other] = [await giveSeries(scene), await makeSeriesScene()];
    await giveSeries(other);
    expect(await statusOf(agent)).toBe('approved');
    world.advance(1_000);
    await end(scene);
    expect(await statusOf(agent)).toBe('pending');
    const ended = { requests: 2, ended_at: new Date(world.now).toISOString() };
    expect(await usageOf(scene, given.id)).toMatchObject(ended);
    expect(await endings(scene)).toEqual([]);
    world.advance(60_000);
    await world.sweep();
    expect(await endings(scene)).toEqual([[null, given.id]]);
    expect(await usageOf(scene, given.id)).toMatchObject(ended);
    await world.sweep();
    expect(await endings(scene)).toHaveLength(1);
    expect([await statusOf(agent), await statusOf(other.agent)]).toEqual(['pending', 'approved']);
    const { body } = await account.must(200, 'GET', `/v1/permissions/${given.id}`);
    expect(body).toMatchObject({ status: 'approved', granted_series: SERIES });
  });

  it('and many at once are recorded by one sweep', async () => {
    const scene = await makeSeriesScene('team');
    const { account, ada, world } = scene;
    const ids: string[] = [];
    for (let n = 0; n < 25; n++) {
      if (n % 10 === 0) scene.agent = await account.agent();
      ids.push((await giveSeries(scene, SERIES, { resource: `shop:${n}` })).id);
    }
    await changeMember(account, ada, { status: 'suspended' });
    await world.sweep();
    const recorded = await endings(scene);
    expect(recorded.map(([, id]) => id).sort()).toEqual(ids.sort());
  });

  it('but not if the owner is named again, or the giver renamed', async () => {
    const scene = await makeSeriesScene();
    const { account, agent, ada, owners } = scene;
    await giveSeries(scene);
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: owners[0]?.id });
    await changeMember(account, ada, { name: 'Ada', role: 'approver', status: 'active' });
    expect(await statusOf(agent)).toBe('approved');
    await scene.world.sweep();
    expect(await endings(scene)).toEqual([]);
  });
});

describe('a series does not cover what policies decide', () => {
  const POLICY = { name: 'Refunds', actions: ['refund.*'], resources: ['*'] };

  it('a later denial and a later review win', async () => {
    for (const [effect, status] of [
      ['deny', 'denied'],
      ['review', 'pending'],
    ] as const) {
      const scene = await makeSeriesScene();
      const { account, agent } = scene;
      await giveSeries(scene);
      const { body } = await account.must(201, 'POST', '/v1/policies', { ...POLICY, effect });
      expect(await statusOf(agent)).toBe(status);
      await account.must(204, 'DELETE', `/v1/policies/${body.id}`);
      expect(await statusOf(agent)).toBe('approved');
    }
  });

  it('its requests wait again once the review policy that routed the first one changes', async () => {
    const scene = await makeSeriesScene();
    const { account, agent, world, ada } = scene;
    const policy = { ...POLICY, effect: 'review', token_ttl: 300 };
    const { body } = await account.must(201, 'POST', '/v1/policies', policy);
    const first = await giveSeries(scene, { ...SERIES, requests: 10 });
    expect(first.review.votes).toMatchObject([{ by: ada.id, series: { requests: 10 } }]);
    const second = await agent.request(ACT);
    expect(second).toMatchObject({ status: 'approved', decided_by: first.id, review: null });
    const lifetime = Date.parse(second.token.expires_at) - world.now;
    expect(lifetime).toBe(300_000);
    world.advance(1);
    await account.must(200, 'PUT', `/v1/policies/${body.id}`, { name: 'Renamed' });
    const third = await agent.request(ACT);
    expect(third).toMatchObject({ status: 'pending' });
    await account.must(204, 'DELETE', `/v1/policies/${body.id}`);
    expect(await statusOf(agent)).toBe('pending');
  });
});

describe('an approval gives a series', () => {
  it('of at most what was asked, and by a member only', async () => {
    const scene = await makeSeriesScene();
    const { account, agent, ada } = scene;
    const { id } = await agent.request({ ...ACT, series: SERIES });
    const giving = (series: Json) => approve(scene, ada, id, { series });
    for (const [series, path] of [
      [{ ...SERIES, requests: 5 }, 'body.series.requests'],
      [{ ...SERIES, expires_in: 3_601 }, 'body.series.expires_in'],
      [{ ...SERIES, varies: ['currency'] }, 'body.series.varies.0'],
    ] as const) {
      const { status, body } = await giving(series);
      expect([status, body.code, body.errors[0].path]).toEqual([400, 'scope_widened', path]);
    }
    const byAccount = await account.call('POST', `/v1/permissions/${id}/approve`, {
      series: SERIES,
    });
    expect(refusal(byAccount)).toEqual([403, 'person_required']);
    const narrow = { requests: 2, expires_in: 60, varies: [] };
    expect((await giving(narrow)).body.granted_series).toEqual(narrow);
    expect(await statusOf(agent, { scope: { max_amount: 199, currency: 'EUR' } })).toBe('pending');
    expect([await statusOf(agent), await statusOf(agent)]).toEqual(['approved', 'pending']);
  });

  it('only where it was asked for', async () => {
    const scene = await makeSeriesScene();
    const { id } = await scene.agent.request(ACT);
    const answer = await approve(scene, scene.ada, id, { series: SERIES });
    expect(refusal(answer)).toEqual([400, 'scope_widened']);
    const { body } = await approve(scene, scene.ada, id);
    expect(body).toMatchObject({ series: null, granted_series: null });
  });

  it('and none if it does not say so', async () => {
    const scene = await makeSeriesScene();
    const { id } = await scene.agent.request({ ...ACT, series: SERIES });
    const { body } = await approve(scene, scene.ada, id);
    expect(body).toMatchObject({ status: 'approved', series: SERIES, granted_series: null });
    expect(await usageOf(scene, id)).toBeUndefined();
    expect(await statusOf(scene.agent)).toBe('pending');
    const ended = await scene.account.call('DELETE', `/v1/permissions/${id}/series`);
    expect(refusal(ended)).toEqual([404, 'not_found']);
  });

  it('for the scope that it grants, however narrow', async () => {
    const scene = await makeSeriesScene();
    const { agent, ada } = scene;
    const { id } = await agent.request({ ...ACT, series: SERIES });
    const scope = { max_amount: 50, currency: 'EUR', region: 'eu' };
    await approve(scene, ada, id, { scope, token_ttl: 60, series: SERIES });
    expect([await statusOf(agent), await statusOf(agent, { scope })]).toEqual([
      'pending',
      'approved',
    ]);
    expect(await statusOf(agent, { scope: { ...scope, max_amount: 51 } })).toBe('pending');
    const { token } = await agent.request({ ...ACT, scope, token_ttl: 900 });
    expect(Date.parse(token.expires_at) - scene.world.now).toBe(60_000);
  });

  it('unless it is longer than the account keeps its log', async () => {
    const scene = await makeSeriesScene('enterprise');
    const { world, account, agent, ada } = scene;
    await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
      token: world.env.ADMIN_TOKEN ?? '',
      body: { audit_retention_days: 1 },
    });
    const series = { ...SERIES, expires_in: 86_401 };
    const { id } = await agent.request({ ...ACT, series });
    const { status, body } = await approve(scene, ada, id, { series });
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(body.errors[0].path).toBe('body.series.expires_in');
    const day = { ...SERIES, expires_in: 86_400 };
    expect((await approve(scene, ada, id, { series: day })).status).toBe(200);
  });

  it('at most 20 live ones for an agent', async () => {
    const scene = await makeSeriesScene('team');
    const { agent, ada, account } = scene;
    const given: string[] = [];
    for (let n = 0; n < 20; n++)
      given.push((await giveSeries(scene, SERIES, { resource: `shop:${n}` })).id);
    const { id } = await agent.request({ ...ACT, series: SERIES });
    expect(refusal(await approve(scene, ada, id, { series: SERIES }))).toEqual([409, 'conflict']);
    scene.agent = await account.agent();
    await giveSeries(scene);
    await account.must(204, 'DELETE', `/v1/permissions/${given[3]}/series`);
    expect((await approve(scene, ada, id, { series: SERIES })).status).toBe(200);
  });
});

describe('a request asks for a series', () => {
  it.each<[string, Json, string]>([
    ['more than one use', { series: SERIES, max_uses: 2 }, 'body.series'],
    ['one request', { series: { ...SERIES, requests: 1 } }, 'body.series.requests'],
    ['1,001 requests', { series: { ...SERIES, requests: 1_001 } }, 'body.series.requests'],
    ['59 seconds', { series: { ...SERIES, expires_in: 59 } }, 'body.series.expires_in'],
    [
      'a key that the scope lacks',
      { series: { ...SERIES, varies: ['n'] } },
      'body.series.varies.0',
    ],
    ['an unknown field', { series: { ...SERIES, per: 'day' } }, 'body.series'],
  ])('but not with %s', async (_, fields, path) => {
    const { agent } = await makeSeriesScene();
    const { status, body } = await agent.call('POST', '/v1/permissions', { ...ACT, ...fields });
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(body.errors[0].path.startsWith(path)).toBe(true);
  });

  it('and one that a series approves gives none itself', async () => {
    const scene = await makeSeriesScene();
    await giveSeries(scene, { ...SERIES, requests: 2 });
    const second = await scene.agent.request({ ...ACT, series: SERIES });
    expect(second).toMatchObject({ status: 'approved', series: SERIES, granted_series: null });
    expect(await statusOf(scene.agent)).toBe('pending');
  });
});
