import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { copyPermission } from '../support/bulk-log';
import { type Json, World } from '../support/world';

const DAY = 86_400_000;
const DRAFT = {
  name: 'Mail',
  effect: 'approve',
  actions: ['email.*'],
  resources: ['*'],
  conditions: { n: { max: 5 } },
};

async function makeScene() {
  const world = new World();
  const account = await world.account();
  const agent = await account.agent();
  const replay = async (policy: Json, days?: number): Promise<Json> =>
    (await account.must(200, 'POST', '/v1/policies/replay', { policy, ...(days && { days }) }))
      .body;
  const request = async (n: number, decision?: 'approve' | 'deny', fields: object = {}) => {
    const { id } = await agent.request({ scope: { n }, expires_in: 60, ...fields });
    if (decision) await account.must(200, 'POST', `/v1/permissions/${id}/${decision}`);
    world.advance(1);
    return id;
  };
  return { world, account, agent, replay, request };
}

it('a replay counts what a draft would have decided, and lists where it disagrees with the decisions', async () => {
  const { world, account, replay, request } = await makeScene();
  await request(1, 'approve');
  const denied = await request(2, 'deny');
  await request(9, 'approve');
  await request(3);
  await request(1, 'approve', { action: 'file.read' });
  const before = await account.log();
  const { cost } = await account.must(200, 'POST', '/v1/policies/replay', { policy: DRAFT });
  expect([cost.trips, cost.written]).toEqual([2, 0]);
  const approving = await replay(DRAFT);
  expect(approving).toEqual({
    ...{ requests: 5, approve: 3, deny: 0, review: 0, undecided: 2, agrees: 1, complete: true },
    disagrees: [{ permission_id: denied, was: 'denied', would_be: 'approve' }],
  });
  // An overdue request is expired, and counts in neither.
  world.advance(60_000);
  expect(await replay(DRAFT)).toEqual(approving);
  // A denial applies in doubt too: it is the other draft's mirror image for the decided requests.
  const denying = await replay({ ...DRAFT, effect: 'deny', conditions: {} });
  expect(denying).toMatchObject({ requests: 5, approve: 0, deny: 4, undecided: 1, agrees: 1 });
  expect(denying.disagrees.map(({ was, would_be }: Json) => [was, would_be])).toEqual([
    ['approved', 'deny'],
    ['approved', 'deny'],
  ]);
  expect(await account.log()).toEqual(before);
});

it('a replay evaluates the draft alone, active or not, for the agents that it names', async () => {
  const { account, agent, replay, request } = await makeScene();
  await account.must(201, 'POST', '/v1/policies', { ...DRAFT, effect: 'deny', conditions: {} });
  await request(1);
  const other = await account.agent();
  expect(await replay({ ...DRAFT, is_active: false })).toMatchObject({ requests: 1, approve: 1 });
  expect(await replay({ ...DRAFT, agent_ids: [agent.id] })).toMatchObject({ approve: 1 });
  expect(await replay({ ...DRAFT, agent_ids: [other.id] })).toMatchObject({
    approve: 0,
    undecided: 1,
  });
});

it('a replay covers the given days, without deleted agents and other accounts', async () => {
  const { world, account, replay, request } = await makeScene();
  const stranger = await (await world.account()).agent();
  await stranger.request();
  const gone = await account.agent();
  await gone.request();
  await account.must(204, 'DELETE', `/v1/agents/${gone.id}`);
  await request(1);
  world.advance(7 * DAY - 1);
  expect((await replay(DRAFT, 7)).requests).toBe(1);
  world.advance(1);
  expect((await replay(DRAFT, 7)).requests).toBe(0);
  expect((await replay(DRAFT)).requests).toBe(1);
});

it('a replay looks at the newest 2,000 requests, and lists 100 disagreements', async () => {
  const { account, agent, replay, request } = await makeScene();
  await request(1, 'deny');
  await copyPermission(env.DB, agent.id, 2_000);
  const found = await replay(DRAFT, 90);
  expect([found.requests, found.complete, found.disagrees.length]).toEqual([2_000, false, 100]);
  expect(found.approve).toBe(2_000);
  const { cost } = await account.must(200, 'POST', '/v1/policies/replay', {
    policy: DRAFT,
    days: 90,
  });
  expect(cost.read).toBeLessThan(6_100);
});

it.each<[string, Json]>([
  ['policy', {}],
  ['policy.name', { policy: { ...DRAFT, name: '' } }],
  ['policy.effect', { policy: { ...DRAFT, effect: 'allow' } }],
  ['policy.id', { policy: { ...DRAFT, id: 'policy_01h455vb4pex5vsknk084sn02q' } }],
  ['days', { policy: DRAFT, days: 0 }],
  ['days', { policy: DRAFT, days: 91 }],
])('a replay is refused for an invalid %s', async (path, body) => {
  const { account } = await makeScene();
  const { body: problem } = await account.must(400, 'POST', '/v1/policies/replay', body);
  expect(problem.errors.map((error: Json) => error.path)).toContain(`body.${path}`);
});
