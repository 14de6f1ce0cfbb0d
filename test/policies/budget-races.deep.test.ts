import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { FaultyDatabase } from '../support/faults';
import { checkIntegrity } from '../support/integrity';
import { orderMove, settleMoves } from '../support/moves';
import { DATABASES } from '../support/shards';
import { type Json, type TestAccount, World } from '../support/world';

const PAY = { action: 'payment.send', resource: 'account:4711', scope: { amount: 0.3 } };
const APPROVE = {
  name: 'Pay',
  effect: 'approve',
  actions: ['payment.*'],
  resources: ['*'],
  conditions: { amount: {} },
};

/** An account that is not the first, with three agents, on a database that can be interrupted. */
async function makeScene() {
  const database = new FaultyDatabase(env.DB);
  const world = new World({ DB: database.binding });
  await world.account();
  const account = await world.account();
  const agents = [await account.agent(), await account.agent(), await account.agent()];
  const [agent] = agents;
  if (!agent) throw new Error('there is no agent');
  return { database, world, account, agents, agent };
}

async function makePolicy(account: TestAccount, fields: Json): Promise<Json> {
  return (await account.must(201, 'POST', '/v1/policies', { ...APPROVE, ...fields })).body;
}

async function readUsage(account: TestAccount, { id }: Json): Promise<Json> {
  return (await account.must(200, 'GET', `/v1/policies/${id}`)).body.usage;
}

/** The approve entries of a policy. */
async function approvalsBy(account: TestAccount, { id }: Json): Promise<Json[]> {
  const log = await account.log('&event_type=approve');
  return log.filter(({ details }) => details.policy_id === id);
}

/** Sends so many requests at once, spread over the agents, and gives the answers. */
async function askAtOnce(
  { agents }: Awaited<ReturnType<typeof makeScene>>,
  count: number,
  fields: Json = {},
): Promise<Json[]> {
  const asking = Array.from({ length: count }, async (_, i) => {
    const agent = agents[i % agents.length];
    return (await agent?.must(201, 'POST', '/v1/permissions', { ...PAY, ...fields }))?.body;
  });
  return await Promise.all(asking);
}

/** How many requests are asked at once before a change, and as many after it. */
const MANY = 100;

function countOf(answers: Json[], status: string): number {
  return answers.filter((answer) => answer.status === status).length;
}

describe('200 requests at once', () => {
  it.each([
    ['requests', { per: 'day', requests: 37 }],
    ['a sum', { per: 'total', sum: { key: 'amount', max: 11.1 } }],
    ['both', { per: 'hour', requests: 50, sum: { key: 'amount', max: 11.399999 } }],
  ])('are approved as often as %s have room for', async (_, budget) => {
    const scene = await makeScene();
    const { account } = scene;
    const policy = await makePolicy(account, { budget });
    const answers = await askAtOnce(scene, 200);
    expect([countOf(answers, 'approved'), countOf(answers, 'pending')]).toEqual([37, 163]);
    expect(await approvalsBy(account, policy)).toHaveLength(37);
    expect(await readUsage(account, policy)).toMatchObject({
      requests: 37,
      sum: sumOf(budget, 37),
    });
    expect(await checkIntegrity(env.DB)).toEqual([]);
  });

  it('share a budget and spend the next one, each exactly', async () => {
    const scene = await makeScene();
    const { account } = scene;
    const budgets = [
      await makePolicy(account, { priority: 3, budget: { per: 'day', requests: 37 } }),
      await makePolicy(account, { priority: 2, budget: { per: 'day', requests: 20 } }),
      await makePolicy(account, { priority: 1, budget: { per: 'day', requests: 5 } }),
    ];
    const answers = await askAtOnce(scene, 200);
    const counts = budgets.map(({ id }) => answers.filter((each) => each.policy_id === id).length);
    expect(counts).toEqual([37, 20, 5]);
    expect(countOf(answers, 'pending')).toBe(138);
  });

  it.each<[string, Json, (spent: number) => number]>([
    ['lowered', { budget: { per: 'day', requests: 20 } }, (spent) => Math.max(spent, 20)],
    ['raised', { budget: { per: 'day', requests: 60 } }, () => 60],
    ['renamed', { name: 'Other' }, () => 37],
    ['switched off', { is_active: false }, (spent) => spent],
    ['made a denial', { effect: 'deny', budget: null }, (spent) => spent],
  ])('stay exact while the policy is %s', async (_, change, most) => {
    const scene = await makeScene();
    const { account } = scene;
    const policy = await makePolicy(account, { budget: { per: 'day', requests: 37 } });
    const first = askAtOnce(scene, MANY);
    const changing = account.must(200, 'PUT', `/v1/policies/${policy.id}`, change);
    const second = askAtOnce(scene, MANY);
    const answers = [...(await first), ...(await second)];
    const { body: changed } = await changing;
    const approved = countOf(answers, 'approved');
    expect(await approvalsBy(account, policy)).toHaveLength(approved);
    expect(approved).toBe(most(changed.usage?.requests ?? approved));
    if (changed.usage) expect((await readUsage(account, policy)).requests).toBe(approved);
  });

  it('stay exact while the policy is deleted', async () => {
    const scene = await makeScene();
    const { account } = scene;
    const policy = await makePolicy(account, { budget: { per: 'day', requests: 37 } });
    const first = askAtOnce(scene, MANY);
    const deleting = account.must(204, 'DELETE', `/v1/policies/${policy.id}`);
    const answers = [...(await first), ...(await askAtOnce(scene, MANY))];
    await deleting;
    expect(countOf(answers, 'approved')).toBeLessThanOrEqual(37);
    expect(await approvalsBy(account, policy)).toHaveLength(countOf(answers, 'approved'));
    expect(countOf(await askAtOnce(scene, 3), 'pending')).toBe(3);
  });

  it('stay exact while the policy expires: each counts by its own time', async () => {
    const scene = await makeScene();
    const { world, account } = scene;
    const expiring = { expires_at: new Date(world.now + 1).toISOString() };
    const policy = await makePolicy(account, { budget: { per: 'day', requests: 37 }, ...expiring });
    const first = askAtOnce(scene, MANY);
    world.advance(1);
    const second = askAtOnce(scene, MANY);
    const approved = [...(await first), ...(await second)].filter(
      ({ status }) => status === 'approved',
    );
    expect(approved.every(({ created_at }) => created_at < expiring.expires_at)).toBe(true);
    expect(approved.length).toBeLessThanOrEqual(37);
    expect(await approvalsBy(account, policy)).toHaveLength(approved.length);
    expect((await readUsage(account, policy)).requests).toBe(approved.length);
  });

  it('stay exact while the account moves, and are all spent there', async () => {
    const scene = await makeScene();
    const { world, account, agents } = scene;
    Object.assign(world.env, { DB_01: DATABASES['01'] });
    const budget = { per: 'day', requests: 300 };
    const policy = await makePolicy(account, { budget });
    await orderMove(world, account.id, '01');
    let isOver = false;
    const moving = settleMoves(world).then(() => {
      isOver = true;
    });
    const answers: Json[] = [];
    while (!isOver) {
      const asked = agents.map((agent) => agent.call('POST', '/v1/permissions', PAY));
      answers.push(...(await Promise.all(asked)));
    }
    await moving;
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.every(({ status }) => status === 503)).toBe(true);
    const later = await askAtOnce(scene, 300);
    const all = [...answers.map(({ body }) => body), ...later];
    expect(countOf(all, 'approved')).toBe(300);
    expect(await approvalsBy(account, policy)).toHaveLength(300);
    expect((await readUsage(account, policy)).requests).toBe(300);
  });
});

/** What so many approvals of 0.3 add up to in the budget. */
function sumOf(budget: Json, approvals: number): number {
  return budget.sum ? Number((0.3 * approvals).toFixed(6)) : 0;
}

describe('a request whose policy changes before the approval is stored', () => {
  /** Runs something between the loading of the policies and the approval. */
  async function interrupt(
    fields: Json,
    happens: (scene: Awaited<ReturnType<typeof makeScene>>, policy: Json) => Promise<unknown>,
  ) {
    const scene = await makeScene();
    const { database, account, agent } = scene;
    const policy = await makePolicy(account, fields);
    database.before(1, () => happens(scene, policy), /insert into "permissions"/);
    const { body, cost } = await agent.must(201, 'POST', '/v1/permissions', PAY);
    return { ...scene, policy, body, cost };
  }

  const change =
    (fields: Json) =>
    ({ account }: { account: TestAccount }, { id }: Json) =>
      account.must(200, 'PUT', `/v1/policies/${id}`, fields);
  const ONE = { budget: { per: 'day', requests: 1 } };

  it('is weighed without it if another request took the room', async () => {
    const { account, policy, body, cost } = await interrupt(
      ONE,
      ({ agents }) => agents[1]?.must(201, 'POST', '/v1/permissions', PAY) ?? Promise.reject(),
    );
    expect(body.status).toBe('pending');
    expect(cost.trips).toBe(4);
    expect((await readUsage(account, policy)).requests).toBe(1);
    expect(await account.log()).toHaveLength(3);
  });

  it('is weighed with it as it is now', async () => {
    const { account, policy, body } = await interrupt(ONE, change({ token_ttl: 60, max_uses: 1 }));
    expect(body.status).toBe('approved');
    expect(Date.parse(body.token.expires_at) - account.world.now).toBe(60_000);
    expect((await readUsage(account, policy)).requests).toBe(1);
  });

  it.each<[string, Json, string]>([
    ['its conditions exclude the request', { conditions: { amount: { max: 0.2 } } }, 'pending'],
    ['it is for other actions', { actions: ['mail.*'] }, 'pending'],
    ['it is switched off', { is_active: false }, 'pending'],
    [
      'its sum is too small',
      { budget: { per: 'day', sum: { key: 'amount', max: 0.2 } } },
      'pending',
    ],
    ['it denies', { effect: 'deny', budget: null }, 'denied'],
    ['it has no budget any more', { budget: null }, 'approved'],
  ])('is decided by the change: %s', async (_, fields, status) => {
    const { body } = await interrupt(ONE, change(fields));
    expect(body.status).toBe(status);
  });

  it('waits if it is deleted', async () => {
    const { body } = await interrupt(ONE, ({ account }, { id }) =>
      account.must(204, 'DELETE', `/v1/policies/${id}`),
    );
    expect([body.status, body.policy_id]).toEqual(['pending', null]);
  });

  it('is refused if its account is stopped, and takes no room', async () => {
    const scene = await makeScene();
    const policy = await makePolicy(scene.account, ONE);
    const stop = () => scene.account.must(200, 'POST', '/v1/me/stop', {});
    scene.database.before(1, stop, /insert into "permissions"/);
    const { body } = await scene.agent.must(403, 'POST', '/v1/permissions', PAY);
    expect(body.code).toBe('account_stopped');
    expect((await readUsage(scene.account, policy)).requests).toBe(0);
  });

  it('goes to people after three lost races, past the policy that comes next', async () => {
    const scene = await makeScene();
    const { database, account, agent } = scene;
    const policy = await makePolicy(account, { priority: 5, budget: { per: 'day', requests: 9 } });
    await makePolicy(account, { priority: 1, token_ttl: 60 });
    let changes = 0;
    const rename = async (): Promise<void> => {
      changes += 1;
      await account.must(200, 'PUT', `/v1/policies/${policy.id}`, { name: `Pay ${changes}` });
      if (changes < 5) database.before(1, rename, /insert into "permissions"/);
    };
    database.before(1, rename, /insert into "permissions"/);
    const { body, cost } = await agent.must(201, 'POST', '/v1/permissions', PAY);
    expect([body.status, changes, cost.trips]).toEqual(['pending', 4, 8]);
    expect((await readUsage(account, policy)).requests).toBe(0);
    expect(await account.log()).toHaveLength(1);
  });

  it('is stored once under its idempotency key and its external id', async () => {
    const scene = await makeScene();
    const { world, account, agent } = scene;
    const policy = await makePolicy(account, { budget: { per: 'day', requests: 3 } });
    const call = { token: agent.key, body: PAY, headers: { 'Idempotency-Key': 'one' } };
    const keyed = Array.from({ length: 20 }, () => world.call('POST', '/v1/permissions', call));
    const body = { ...PAY, external_id: 'call-1' };
    const calls = Array.from({ length: 20 }, () => agent.call('POST', '/v1/permissions', body));
    const answers = (await Promise.all([...keyed, ...calls])).map(({ body }) => body);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(2);
    expect((await readUsage(account, policy)).requests).toBe(2);
  });
});

describe('an approval whose process ends', () => {
  const NAMES: [name: string, fields: Json, headers: Record<string, string>][] = [
    ['its idempotency key', {}, { 'Idempotency-Key': 'again' }],
    ['its external id', { external_id: 'call-1' }, {}],
  ];
  const ENDS = [1, 2].flatMap((call) =>
    (['before', 'after'] as const).map((mode) => ({ call, mode })),
  );

  it.each(
    NAMES.flatMap(([name, fields, headers]) =>
      ENDS.map((end) => ({ name, fields, headers, ...end })),
    ),
  )('$mode its trip $call counts once if it is sent again under $name', async (course) => {
    const { fields, headers, ...end } = course;
    const { database, world, account, agent } = await makeScene();
    const policy = await makePolicy(account, { budget: { per: 'day', requests: 2 } });
    const call = { token: agent.key, body: { ...PAY, ...fields }, headers };
    database.arm(end);
    expect((await world.call('POST', '/v1/permissions', call)).status).toBe(503);
    database.arm(null);
    const isStored = end.call === 2 && end.mode === 'after';
    expect((await readUsage(account, policy)).requests).toBe(isStored ? 1 : 0);
    const { body } = await world.call('POST', '/v1/permissions', call);
    expect(body.status).toBe('approved');
    expect((await readUsage(account, policy)).requests).toBe(1);
  });
});

describe('around the border of a window', () => {
  it('a request that commits late counts in the later window', async () => {
    const { database, world, account, agents, agent } = await makeScene();
    world.now = Date.UTC(2026, 0, 31, 23, 59, 59, 999);
    const budget = { per: 'day', requests: 2 };
    const policy = await makePolicy(account, { budget });
    database.before(
      1,
      async () => {
        world.advance(1);
        await agents[1]?.must(201, 'POST', '/v1/permissions', PAY);
      },
      /insert into "permissions"/,
    );
    expect((await agent.request(PAY)).status).toBe('approved');
    const used = { window_start: '2026-02-01T00:00:00.000Z', requests: 2, sum: 0 };
    expect(await readUsage(account, policy)).toEqual(used);
    expect((await agent.request(PAY)).status).toBe('pending');
  });
});

it('a change of the limits never loses a count', async () => {
  const scene = await makeScene();
  const { account } = scene;
  const policy = await makePolicy(account, { budget: { per: 'total', requests: 1_000 } });
  const changing = Array.from({ length: 20 }, (_, i) =>
    account.call('PUT', `/v1/policies/${policy.id}`, {
      budget: { per: 'total', requests: 1_000 + i },
    }),
  );
  const answers = await askAtOnce(scene, 60);
  const statuses = (await Promise.all(changing)).map(({ status }) => status);
  expect(statuses.every((status) => status === 200 || status === 409)).toBe(true);
  const { requests } = await readUsage(account, policy);
  expect(requests).toBe(countOf(answers, 'approved'));
  expect(await approvalsBy(account, policy)).toHaveLength(requests);
});
