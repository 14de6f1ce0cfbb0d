import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { checkIntegrity } from '../../support/integrity';
import { orderMove, settleMoves } from '../../support/moves';
import {
  ACT,
  changeMember,
  giveSeries,
  makeSeriesScene,
  SERIES,
  type SeriesScene,
  statusOf,
  usageOf,
} from '../../support/series';
import { DATABASES } from '../../support/shards';
import { type Answer, type Json, TestAccount, World } from '../../support/world';

const FIFTY = { ...SERIES, requests: 50 };

/** The approvals by a series, in the order of the log. */
async function approvalsBy({ account }: SeriesScene, first: string): Promise<Json[]> {
  const log = await account.log('&event_type=approve');
  return log.filter(({ details }) => details.decided_by === first);
}

function askAtOnce({ agent }: SeriesScene, count: number): Promise<Json[]> {
  return Promise.all(Array.from({ length: count }, () => agent.request(ACT)));
}

const countOf = (answers: Json[], status: string) =>
  answers.filter((answer) => answer.status === status).length;

it('300 requests at once are approved by a series of 50 as often as it has room', async () => {
  const scene = await makeSeriesScene();
  const { id } = await giveSeries(scene, FIFTY);
  const answers = await askAtOnce(scene, 300);
  expect([countOf(answers, 'approved'), countOf(answers, 'pending')]).toEqual([49, 251]);
  expect(await approvalsBy(scene, id)).toHaveLength(49);
  expect(await usageOf(scene, id)).toMatchObject({ requests: 50 });
  expect(await checkIntegrity(env.DB)).toEqual([]);
});

it('a series approves as often while its account moves', async () => {
  const scene = await makeSeriesScene();
  const { world, account, agent } = scene;
  Object.assign(world.env, { DB_01: DATABASES['01'] });
  const { id } = await giveSeries(scene, { ...SERIES, requests: 300 });
  await orderMove(world, account.id, '01');
  let isOver = false;
  const moving = settleMoves(world).then(() => {
    isOver = true;
  });
  const answers: Answer[] = [];
  while (!isOver) answers.push(await agent.call('POST', '/v1/permissions', ACT));
  await moving;
  const refused = answers.filter(({ status }) => status !== 201);
  expect(refused.every(({ status }) => status === 503)).toBe(true);
  expect(refused).not.toEqual([]);
  const all = [...answers.map(({ body }) => body), ...(await askAtOnce(scene, 300))];
  expect(countOf(all, 'approved')).toBe(299);
  expect(await approvalsBy(scene, id)).toHaveLength(299);
  expect(await usageOf(scene, id)).toMatchObject({ requests: 300 });
});

it('two series of one kind approve as much as both have room for', async () => {
  const scene = await makeSeriesScene();
  const { account, agent, ada, world } = scene;
  const asked = await Promise.all(
    [5, 7].map((requests) => agent.request({ ...ACT, series: { ...SERIES, requests } })),
  );
  for (const { id, series } of asked) {
    const body = { series };
    await world.must(200, 'POST', `/v1/permissions/${id}/approve`, { token: ada.token, body });
  }
  const answers = await askAtOnce(scene, 40);
  expect(countOf(answers, 'approved')).toBe(10);
  for (const { id, series } of asked)
    expect(
      (await account.must(200, 'GET', `/v1/permissions/${id}`)).body.series_usage,
    ).toMatchObject({ requests: series.requests });
});

/** What ends a series, or comes before it. */
const CHANGES: [string, (scene: SeriesScene, first: string) => Promise<unknown>, status: string][] =
  [
    [
      'its giver is suspended',
      ({ account, ada }) => changeMember(account, ada, { status: 'suspended' }),
      'pending',
    ],
    [
      'its giver is demoted and promoted again',
      async ({ account, ada }) => {
        await changeMember(account, ada, { role: 'auditor' });
        await changeMember(account, ada, { role: 'approver' });
      },
      'pending',
    ],
    [
      'the agent gets another owner',
      ({ account, agent, owners: [, second] }) =>
        account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: second?.id }),
      'pending',
    ],
    [
      'somebody ends it',
      ({ account }, first) => account.must(204, 'DELETE', `/v1/permissions/${first}/series`),
      'pending',
    ],
    [
      'a policy denies',
      ({ account }) => account.must(201, 'POST', '/v1/policies', policy('deny')),
      'denied',
    ],
    [
      'a policy asks for a review',
      ({ account }) => account.must(201, 'POST', '/v1/policies', policy('review')),
      'pending',
    ],
  ];

const policy = (effect: string) => ({
  name: 'Refunds',
  effect,
  actions: ['refund.*'],
  resources: ['*'],
});

describe.each(CHANGES)('when %s', (_, change, status) => {
  it('between the reading and the writing of a request, that is not approved', async () => {
    const scene = await makeSeriesScene();
    const { database } = scene;
    const { id } = await giveSeries(scene, FIFTY);
    const elsewhere = atTheSameTime(scene);
    database.before(1, () => change(elsewhere, id), /insert into "permissions"/);
    expect(await statusOf(scene.agent)).toBe(status);
    expect(await approvalsBy(scene, id)).toEqual([]);
  });

  it('while many requests come, none is approved afterwards', async () => {
    const scene = await makeSeriesScene();
    const { id } = await giveSeries(scene, FIFTY);
    const before = askAtOnce(scene, 20);
    await change(atTheSameTime(scene), id);
    const approved = await approvalsBy(scene, id);
    const later = await askAtOnce(scene, 20);
    expect(countOf(later, 'approved')).toBe(0);
    const answers = await before;
    expect(await approvalsBy(scene, id)).toHaveLength(countOf(answers, 'approved'));
    expect(approved.length).toBeLessThanOrEqual(20);
    expect(await checkIntegrity(env.DB)).toEqual([]);
  });
});

it('a request that a stop overtakes is not approved', async () => {
  const scene = await makeSeriesScene();
  const { account, agent, database } = scene;
  const { id } = await giveSeries(scene, FIFTY);
  const { account: other } = atTheSameTime(scene);
  database.before(1, () => other.must(200, 'POST', '/v1/me/stop'), /insert into "permissions"/);
  const { status, body } = await agent.call('POST', '/v1/permissions', ACT);
  expect([status, body.code]).toEqual([403, 'account_stopped']);
  expect(await approvalsBy(scene, id)).toEqual([]);
  await account.must(200, 'POST', '/v1/me/resume');
  expect(await statusOf(agent)).toBe('approved');
});

it('a review policy that changes between the reading and the writing routes the request', async () => {
  const scene = await makeSeriesScene();
  const { account, database, world } = scene;
  const { body } = await account.must(201, 'POST', '/v1/policies', policy('review'));
  const { id } = await giveSeries(scene, FIFTY);
  expect(await statusOf(scene.agent)).toBe('approved');
  world.advance(1);
  const { account: other } = atTheSameTime(scene);
  for (const change of [
    () => other.must(200, 'PUT', `/v1/policies/${body.id}`, { priority: 1 }),
    () => other.must(204, 'DELETE', `/v1/policies/${body.id}`),
  ]) {
    database.before(1, change, /insert into "permissions"/);
    expect(await statusOf(scene.agent)).toBe('pending');
  }
  expect(await approvalsBy(scene, id)).toHaveLength(1);
});

describe('a request whose answer is lost', () => {
  it.each(['before', 'after'] as const)('%s the commit is counted once', async (mode) => {
    const scene = await makeSeriesScene();
    const { agent, database } = scene;
    const { id } = await giveSeries(scene, FIFTY);
    database.arm({ call: 2, mode });
    const body = { ...ACT, external_id: 'call-1' };
    const { status } = await agent.call('POST', '/v1/permissions', body);
    expect(status).toBe(503);
    database.arm(null);
    expect((await agent.call('POST', '/v1/permissions', body)).body.status).toBe('approved');
    expect(await approvalsBy(scene, id)).toHaveLength(1);
    expect(await usageOf(scene, id)).toMatchObject({ requests: 2 });
  });
});

it('of 30 approvals that give the last live series at once, one does', async () => {
  const scene = await makeSeriesScene('team');
  const { agent, ada, world } = scene;
  for (let n = 0; n < 19; n++) await giveSeries(scene, SERIES, { resource: `shop:${n}` });
  const asked = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      agent.request({ ...ACT, resource: `mall:${n}`, series: SERIES }),
    ),
  );
  const answers = await Promise.all(
    asked.map(({ id }) =>
      world.call('POST', `/v1/permissions/${id}/approve`, {
        token: ada.token,
        body: { series: SERIES },
      }),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(29);
});

/** The scene with calls that do not pass the database which is interrupted. */
function atTheSameTime(scene: SeriesScene): SeriesScene {
  const world = new World();
  world.now = scene.world.now + 1;
  const { id, token, tokenId } = scene.account;
  const account = new TestAccount(world, id, token, tokenId);
  return { ...scene, world, account };
}
