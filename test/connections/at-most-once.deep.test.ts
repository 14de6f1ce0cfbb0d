import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { callUpstream, codeOf, makeConnectionScene, UPSTREAM } from '../support/connection-calls';
import { MODES } from '../support/failing-calls';
import { checkIntegrity } from '../support/integrity';
import { orderMove, settleMoves } from '../support/moves';
import { Outage, type OutageMode } from '../support/outage';
import { emptyTables } from '../support/tables';
import { type Answer, World } from '../support/world';

const DAY = 86_400_000;
const MOST_BY_POLICY = 10_000;

type Scene = Awaited<ReturnType<typeof makeConnectionScene>>;

/** An act by its amount, which is unique, and the call that performs it. */
interface Act {
  amount: number;
  call: () => Promise<Answer>;
}

const outage = new Outage();
let scene: Scene;
let acts = 0;
/** How often each amount arrived at the other service. */
const arrivals = new Map<number, number>();
/** Whether the call that failed is the one to the other service. */
let hasFetchFailed = false;

beforeAll(async () => {
  await emptyTables(env.DB);
  const world = new World({ DB: outage.database(env.DB) });
  scene = await makeConnectionScene({ wait: 1 }, world);
  await scene.account.must(201, 'POST', '/v1/policies', {
    name: 'Small amounts',
    effect: 'approve',
    actions: ['*'],
    resources: ['*'],
    conditions: { amount: { max: MOST_BY_POLICY } },
  });
  world.runtime.fetch = async (url, options) => {
    const hadFailed = outage.hasFailed;
    try {
      return await outage.fetch((...sent) => world.internet.fetch(...sent))(url, options);
    } finally {
      hasFetchFailed ||= !hadFailed && outage.hasFailed;
    }
  };
  world.internet.on(UPSTREAM, ({ body }) => {
    const { amount } = JSON.parse(body);
    arrivals.set(amount, (arrivals.get(amount) ?? 0) + 1);
    return Response.json({ done: true });
  });
});

function actOf(amount: number, key?: string): Act {
  const headers: Record<string, string> = key === undefined ? {} : { 'Idempotency-Key': key };
  const call = () => callUpstream(scene.agent, scene.connection, { body: { amount }, headers });
  return { amount, call };
}

/** Approves the request of an amount, if it waits. */
async function approve(wanted: number): Promise<void> {
  const { data } = (await scene.agent.must(200, 'GET', '/v1/permissions?status=pending')).body;
  for (const { id, scope } of data)
    if (scope.amount === wanted)
      await scene.account.must(200, 'POST', `/v1/permissions/${id}/approve`, {});
}

/** The roads to an act: each prepares one with a new amount. */
const ROADS: Record<string, (number: number) => Promise<Act>> = {
  'a policy approves': async (number) => actOf(number),
  'a policy approves, and that has a key': async (number) => actOf(number, `key-${number}`),
  'people have approved': async (number) => {
    const act = actOf(number + MOST_BY_POLICY);
    await act.call();
    await approve(act.amount);
    return act;
  },
  'people have approved for another key': async (number) => {
    const act = actOf(number + MOST_BY_POLICY, `first-${number}`);
    await act.call();
    await approve(act.amount);
    return actOf(act.amount, `second-${number}`);
  },
  'people approve while it waits': async (number) => {
    const act = actOf(number + MOST_BY_POLICY);
    scene.world.whileAsleep = async () => {
      scene.world.whileAsleep = async () => undefined;
      await approve(act.amount).catch(() => undefined);
    };
    return act;
  },
};

interface Fault {
  call: number;
  mode: OutageMode;
}

/** Prepares an act and performs it, while a call of its road fails. */
async function perform(prepare: (number: number) => Promise<Act>, fault: Fault | null) {
  acts += 1;
  const act = await prepare(acts);
  hasFetchFailed = false;
  outage.arm(fault);
  const answer = await act.call();
  const { calls } = outage;
  outage.arm(null);
  scene.world.whileAsleep = async () => undefined;
  return { act, answer, calls };
}

const arrivalsOf = ({ amount }: Act) => arrivals.get(amount) ?? 0;

describe.each(Object.entries(ROADS))('an act that %s', (_, prepare) => {
  it.each(MODES)('is sent at most once: %s each call of its road', async (mode) => {
    const usual = await perform(prepare, null);
    expect([usual.answer.status, arrivalsOf(usual.act)]).toEqual([200, 1]);
    const calls = Array.from({ length: usual.calls }, (__, i) => i + 1);
    for (const call of calls) {
      const where = { mode, call, of: usual.calls };
      const { act, answer } = await perform(prepare, { call, mode });
      expect({ ...where, failed: outage.calls < call }).toEqual({ ...where, failed: true });
      if (answer.status === 200)
        expect({ ...where, arrived: arrivalsOf(act) }).toEqual({ ...where, arrived: 1 });
      for (let again = 0; again < 2; again++) {
        await act.call();
        await approve(act.amount);
      }
      const last = await act.call();
      expect({ ...where, last: codeOf(last) }).toEqual({ ...where, last: [409, 'already_used'] });
      const arrived = arrivalsOf(act);
      expect(arrived).toBeLessThanOrEqual(1);
      // A process that goes on loses no act, unless the request itself fails.
      const isLossAllowed = mode.startsWith('kill') || hasFetchFailed;
      if (!isLossAllowed) expect({ ...where, arrived }).toEqual({ ...where, arrived: 1 });
    }
  });
});

describe('after all of them', () => {
  it('every act was used once, and has an outcome that is true', async () => {
    const { world, account, agent } = scene;
    world.advance(DAY);
    for (let i = 0; i < 3; i++) await world.sweep();
    const uses = await account.log('&event_type=use');
    expect(uses).toHaveLength(acts);
    const outcomes = new Set<string>();
    for (const { permission_request_id: id } of uses) {
      const { body } = await agent.must(200, 'GET', `/v1/permissions/${id}`);
      const arrived = arrivals.get(body.scope.amount) ?? 0;
      const { status } = body.outcome;
      outcomes.add(status);
      expect([id, arrived, status === 'unknown' || arrived === 1]).toEqual([id, arrived, true]);
      expect(['succeeded', 'unknown']).toContain(status);
    }
    expect(outcomes).toContain('succeeded');
    expect(outcomes).toContain('unknown');
    expect(await checkIntegrity(env.DB)).toEqual([]);
  });
});

describe('equal calls at the same time', () => {
  it.each([
    ['without a key', () => ({})],
    ['with one key', () => ({ 'Idempotency-Key': 'same' })],
    ['with a key each', (number: number) => ({ 'Idempotency-Key': `own-${number}` })],
  ])('act once, of 50 that people approved: %s', async (_, headersOf) => {
    acts += 1;
    const amount = MOST_BY_POLICY + acts;
    const send = (number: number) =>
      callUpstream(scene.agent, scene.connection, {
        body: { amount },
        headers: headersOf(number) as Record<string, string>,
      });
    expect(codeOf(await send(0))).toEqual([403, 'permission_pending']);
    await approve(amount);
    const answers = await Promise.all(Array.from({ length: 50 }, (__, number) => send(number)));
    expect(arrivals.get(amount)).toBe(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });
});

describe('an account that moves while the other service answers', () => {
  it('gets the outcome on its new shard', async () => {
    const { world, account, agent, connection } = scene;
    Object.assign(world.env, { DB_01: env.DB_01 });
    world.internet.on(UPSTREAM, async () => {
      await orderMove(world, account.id, '01');
      await settleMoves(world);
      return Response.json({ done: true });
    });
    acts += 1;
    const answer = await callUpstream(agent, connection, { body: { amount: acts } });
    const id = answer.headers.get('Countersign-Permission');
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${id}`);
    expect(body.outcome).toMatchObject({ status: 'succeeded', reported_by: connection.id });
  });
});
