import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { failingCalls } from '../support/failing-calls';
import { type FaultMode, FaultyDatabase } from '../support/faults';
import { checkIntegrity } from '../support/integrity';
import { type Answer, type TestAccount, type TestAgent, World } from '../support/world';

interface Scene {
  world: World;
  account: TestAccount;
  agent: TestAgent;
  permission: { id: string; token: { id: string; value: string } | null };
}

interface Operation {
  name: string;
  prepare: (agent: TestAgent) => Promise<Scene['permission']>;
  act: (scene: Scene) => Promise<Answer | undefined>;
  /** The entry that the operation writes. */
  event: string;
}

const pending = (agent: TestAgent) => agent.request();
const approved = (agent: TestAgent) => agent.approved({ max_uses: 2 });

const operations: Operation[] = [
  {
    name: 'request',
    event: 'request',
    prepare: async () => ({ id: '', token: null }),
    act: ({ agent }) =>
      agent.call('POST', '/v1/permissions', { action: 'file.read', resource: 'file:a' }),
  },
  {
    name: 'approve',
    event: 'approve',
    prepare: pending,
    act: ({ account, permission }) =>
      account.call('POST', `/v1/permissions/${permission.id}/approve`),
  },
  {
    name: 'deny',
    event: 'deny',
    prepare: pending,
    act: ({ account, permission }) => account.call('POST', `/v1/permissions/${permission.id}/deny`),
  },
  {
    name: 'use',
    event: 'use',
    prepare: approved,
    act: ({ account, permission }) =>
      account.call('POST', '/v1/tokens/use', { token: permission.token?.value }),
  },
  {
    name: 'revoke',
    event: 'revoke',
    prepare: approved,
    act: ({ account, permission }) =>
      account.call('POST', '/v1/tokens/revoke', { token_id: permission.token?.id }),
  },
  {
    name: 'expiry of a request',
    event: 'expire',
    prepare: pending,
    act: async ({ world }) => {
      world.advance(3_600_000);
      await world.sweep();
      return undefined;
    },
  },
  {
    name: 'expiry of a token',
    event: 'expire',
    prepare: approved,
    act: async ({ world }) => {
      world.advance(900_000);
      await world.sweep();
      return undefined;
    },
  },
];

const modes: FaultMode[] = ['before', 'after'];

describe.each(operations)('the operation "$name"', ({ prepare, act, event }) => {
  it.each(modes)(
    'leaves state and log consistent when a database call fails %s it is executed',
    async (mode) => {
      const calls = await countCalls(prepare, act);
      expect(calls).toBeGreaterThan(0);
      for (const call of failingCalls(calls, 1)) {
        const database = new FaultyDatabase(env.DB);
        const scene = await makeScene(database, prepare);
        const before = (await scene.account.log()).length;
        database.arm({ call, mode });
        const answer = await act(scene);
        database.arm(null);
        if (answer) expect([answer.status, answer.body.code]).toEqual([503, 'unavailable']);
        if (answer) expect(answer.headers.get('Retry-After')).toBe('1');
        const written = (await scene.account.log())
          .slice(before)
          .map(({ event_type }) => event_type);
        expect(written.length).toBeLessThanOrEqual(1);
        expect(await checkIntegrity(env.DB)).toEqual([]);
        // A lost operation can be repeated and is then in the log exactly once. A repeated request
        // is a new request.
        const again = await act(scene);
        if (again) expect(again.status).toBeLessThan(500);
        const events = (await scene.account.log())
          .slice(before)
          .map(({ event_type }) => event_type);
        const lostAnswer = mode === 'after' && written.length === 1;
        expect(events).toEqual(
          event === 'request' && lostAnswer ? [event, event] : usesAgain(event, lostAnswer),
        );
        expect(await checkIntegrity(env.DB)).toEqual([]);
      }
    },
  );
});

it.each(modes)(
  'a request that a policy decides writes both entries or none when a database call fails %s it is executed',
  async (mode) => {
    for (const effect of ['approve', 'deny']) {
      for (const call of [1, 2]) {
        const database = new FaultyDatabase(env.DB);
        const { account, agent } = await makeScene(database, async () => ({ id: '', token: null }));
        await account.must(201, 'POST', '/v1/policies', {
          name: 'All',
          effect,
          actions: ['*'],
          resources: ['*'],
        });
        database.arm({ call, mode });
        expect(
          (await agent.call('POST', '/v1/permissions', { action: 'a.b', resource: 'c:d' })).status,
        ).toBe(503);
        database.arm(null);
        const events = (await account.log()).map(({ event_type }) => event_type);
        expect(events).toEqual(call === 2 && mode === 'after' ? ['request', effect] : []);
        expect(await checkIntegrity(env.DB)).toEqual([]);
      }
    }
  },
);

/** A use whose response was lost still counts as a use, so repeating it uses the token again. */
function usesAgain(event: string, lostAnswer: boolean): string[] {
  return event === 'use' && lostAnswer ? [event, event] : [event];
}

async function countCalls(prepare: Operation['prepare'], act: Operation['act']): Promise<number> {
  const database = new FaultyDatabase(env.DB);
  const scene = await makeScene(database, prepare);
  database.arm(null);
  await act(scene);
  return database.calls;
}

async function makeScene(database: FaultyDatabase, prepare: Operation['prepare']): Promise<Scene> {
  const world = new World({ DB: database.binding });
  const account = await world.account({ plan: 'pro' });
  const agent = await account.agent();
  return { world, account, agent, permission: await prepare(agent) };
}
