import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { depth } from '../../support/depth';
import { FaultyDatabase } from '../../support/faults';
import {
  makeOutcomeScene,
  REPORT_PERIOD,
  readOutcome,
  report,
  resultOf,
  usePromised,
} from '../../support/outcomes';
import { makeWebhook, type TestWebhook, verify } from '../../support/webhooks';
import { type Json, World } from '../../support/world';

const EVENT = 'permission.outcome_missing';

/** A scene with a webhook for the event in each account. */
async function makeHookedScene(world = new World()) {
  const scene = await makeOutcomeScene(world);
  const hook = await makeWebhook(scene.account, { events: [EVENT, 'permission.decided'] });
  const other = await makeWebhook(scene.others[0], { events: [EVENT] });
  /** The events that a webhook has received, without the decisions. */
  const received = (webhook: TestWebhook): Json[] =>
    world.internet
      .sentTo(webhook.host)
      .map((message) =>
        verify(webhook.secret, message, Number(message.headers.get('webhook-timestamp')) * 1_000),
      )
      .filter(({ event }: Json) => event === EVENT);
  const settle = async () => {
    await world.sweep();
    await world.deliver();
  };
  return { ...scene, hook, other, received, settle };
}

describe('an outcome that is not reported within 10 minutes', () => {
  it('becomes unknown at that moment, and one event tells the webhooks', async () => {
    const { world, account, agent, hook, other, received, settle } = await makeHookedScene();
    const { id } = await usePromised(agent);
    const usedAt = world.now;
    world.advance(REPORT_PERIOD - 1);
    await settle();
    expect((await readOutcome(agent, id)).status).toBe('awaited');
    expect(received(hook)).toEqual([]);
    world.advance(1);
    expect((await readOutcome(agent, id)).status).toBe('unknown');
    await settle();
    const [event, ...more] = received(hook);
    expect(more).toEqual([]);
    expect(event.timestamp).toBe(new Date(usedAt + REPORT_PERIOD).toISOString());
    const shown = (await account.must(200, 'GET', `/v1/permissions/${id}`)).body;
    const { input: _, preview: __, ...data } = shown;
    expect(event.data).toEqual(data);
    expect(data.outcome).toMatchObject({ status: 'unknown', reported_at: null });
    for (let minutes = 0; minutes < 3; minutes++) {
      world.advance(60_000);
      await settle();
    }
    expect([received(hook).length, received(other).length]).toEqual([1, 0]);
    expect(resultOf(await report(agent, id))).toEqual([200, 'succeeded']);
    world.advance(REPORT_PERIOD);
    await settle();
    expect(received(hook)).toHaveLength(1);
  });

  it('is not missing if it was reported, whatever the report said', async () => {
    const { world, agent, hook, received, settle } = await makeHookedScene();
    for (const status of ['succeeded', 'failed', 'unknown'])
      await report(agent, (await usePromised(agent)).id, { status });
    await agent.approved({ reports_outcome: true });
    const plain = await agent.approved();
    await agent.must(200, 'POST', '/v1/tokens/use', { token: plain.token.value });
    world.advance(2 * REPORT_PERIOD);
    await settle();
    expect(received(hook)).toEqual([]);
  });

  it.runIf(depth.isDeep)(
    'is one event each, of hundreds at once and of every account',
    async () => {
      const { world, account, agent, others, hook, other, received, settle } =
        await makeHookedScene();
      const neighbour = await others[0].agent();
      const policy = { name: 'P', effect: 'approve', actions: ['auto.do'], resources: ['*'] };
      for (const each of [account, others[0]]) await each.must(201, 'POST', '/v1/policies', policy);
      const used = async (by: typeof agent) => {
        const { id, token } = await by.request({ action: 'auto.do', reports_outcome: true });
        await by.must(200, 'POST', '/v1/tokens/use', { token: token.value });
        return id as string;
      };
      const ids: string[] = [];
      for (let i = 0; i < 230; i++) ids.push(await used(agent));
      const theirs = await used(neighbour);
      world.advance(REPORT_PERIOD);
      await settle();
      await settle();
      const told = received(hook).map(({ data }) => data.id);
      expect(told.toSorted()).toEqual(ids.toSorted());
      expect(received(other).map(({ data }) => data.id)).toEqual([theirs]);
    },
  );

  it('tells nobody where no webhook is active, nor one that is made later', async () => {
    const { world, account, agent } = await makeOutcomeScene();
    const { id } = await usePromised(agent);
    world.advance(REPORT_PERIOD);
    await world.sweep();
    const late = await makeWebhook(account, { events: [EVENT] });
    await world.sweep();
    await world.deliver();
    expect(world.internet.sentTo(late.host)).toEqual([]);
    expect((await readOutcome(account, id)).status).toBe('unknown');
  });

  it('tells nobody of a deleted agent', async () => {
    const { world, account, agent, hook, received, settle } = await makeHookedScene();
    await usePromised(agent);
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    world.advance(REPORT_PERIOD);
    await settle();
    expect(received(hook)).toEqual([]);
  });

  it('has one end when the report comes while the sweep runs', async () => {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    const { agent, hook, received, settle } = await makeHookedScene(world);
    const early = await usePromised(agent);
    world.advance(REPORT_PERIOD);
    const marks = /update "permissions" set "outcome_state"/;
    database.before(1, () => report(agent, early.id), marks);
    await settle();
    expect((await readOutcome(agent, early.id)).status).toBe('succeeded');
    expect(received(hook)).toEqual([]);

    const late = await usePromised(agent);
    world.advance(REPORT_PERIOD);
    database.before(2, settle);
    expect(resultOf(await report(agent, late.id, { status: 'failed' }))).toEqual([200, 'failed']);
    await settle();
    expect(received(hook).map(({ data }) => data.id)).toEqual([late.id]);
  });

  it.runIf(depth.isDeep)(
    'is sent once if the answer to the sweep is lost, or if two sweeps run at once',
    async () => {
      const database = new FaultyDatabase(env.DB);
      const world = new World({ DB: database.binding });
      const { agent, hook, received, settle } = await makeHookedScene(world);
      const { id } = await usePromised(agent);
      world.advance(REPORT_PERIOD);
      for (let call = 1; call <= 12; call++) {
        database.arm({ call, mode: call % 2 ? 'after' : 'before' });
        await settle().catch(() => undefined);
      }
      database.arm(null);
      await Promise.all([world.sweep(), world.sweep()]);
      await settle();
      expect(received(hook).map(({ data }) => data.id)).toEqual([id]);
    },
  );
});
