import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkIntegrity } from '../support/integrity';
import { type Answer, type TestAccount, World } from '../support/world';

const RUNS = 40;

/** A database whose batches wait until the test lets them through one at a time. */
class Gate {
  private waiting: { name: string; enter: () => Promise<void> }[] = [];

  /** The database for the request with this name. */
  bindingFor(name: string): D1Database {
    const binding = {
      prepare: (sql: string) => env.DB.prepare(sql),
      batch: (statements: D1PreparedStatement[]) =>
        new Promise((resolve, reject) => {
          const enter = () => env.DB.batch(statements).then(resolve, reject);
          this.waiting.push({ name, enter });
        }),
    };
    return binding as unknown as D1Database;
  }

  get size(): number {
    return this.waiting.length;
  }

  /** Lets one of the waiting batches through. */
  async open(choice: number): Promise<string> {
    const [batch] = this.waiting.splice(choice % this.waiting.length, 1);
    if (!batch) throw new Error('nothing waits');
    await batch.enter();
    return batch.name;
  }
}

/** What a credential can be used for, and how it can end. */
const WRITES = ['create agent', 'create token', 'create policy', 'deny', 'request', 'use'] as const;
const ENDINGS = [
  'delete token',
  'rotate key',
  'switch off agent',
  'delete agent',
  'switch off account',
  'let both expire',
] as const;

type Write = (typeof WRITES)[number];
type Ending = (typeof ENDINGS)[number];

const plans = fc.record({
  writes: fc.array(fc.constantFrom(...WRITES), { minLength: 3, maxLength: 6 }),
  endings: fc.uniqueArray(fc.constantFrom(...ENDINGS), { minLength: 1, maxLength: 2 }),
  order: fc.infiniteStream(fc.nat(1_000)),
});

const OF_AGENT: Write[] = ['request', 'use'];
const LOGGED: Write[] = ['deny', 'request', 'use'];
/** How long the token and the key of a scene are valid, in milliseconds. */
const LIFETIME = 60_000;

const REFUSALS = [
  ...[
    'unauthorized',
    'account_inactive',
    'agent_inactive',
    'not_found',
    'not_pending',
    'token_not_active',
  ],
  'unavailable',
];

/** Which writes an ending forbids. */
function forbids(ending: Ending, write: Write): boolean {
  if (ending === 'switch off account') return true;
  // Times in the log never decrease, so a logged write after the expiry would have a time after the
  // expiry.
  if (ending === 'let both expire') return LOGGED.includes(write);
  return ending === 'delete token' ? !OF_AGENT.includes(write) : OF_AGENT.includes(write);
}

async function makeScene() {
  const account = await new World().account();
  const agent = await account.agent();
  const end = new Date(account.world.now + LIFETIME).toISOString();
  const { body: user } = await account.must(201, 'POST', '/v1/me/tokens', { expires_at: end });
  const { token } = await agent.approved({ max_uses: 10 });
  await account.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`, {
    grace_period: LIFETIME / 1_000,
  });
  return { account, agent, user, token: token.value as string, otherAgent: await account.agent() };
}

const REQUEST = { action: 'file.read', resource: 'file:a' };

type Scene = Awaited<ReturnType<typeof makeScene>>;

function describeWrite(write: Write, { agent, user, token }: Scene, permission: string) {
  const policy = { name: 'Never', effect: 'deny', actions: ['never.*'], resources: ['*'] };
  const requests = {
    'create agent': ['/v1/agents', { name: 'Another' }],
    'create token': ['/v1/me/tokens', {}],
    'create policy': ['/v1/policies', policy],
    deny: [`/v1/permissions/${permission}/deny`, {}],
    request: ['/v1/permissions', REQUEST],
    use: ['/v1/tokens/use', { token }],
  } as const;
  const [path, body] = requests[write];
  return { path, body, credential: OF_AGENT.includes(write) ? agent.key : (user.token as string) };
}

function end(
  ending: Ending,
  world: World,
  { account, agent, user, otherAgent }: Scene,
): Promise<Answer> {
  const byOwner = { token: account.token };
  const path = `/v1/agents/${agent.id}`;
  switch (ending) {
    case 'delete token':
      return world.call('DELETE', `/v1/me/tokens/${user.id}`, byOwner);
    case 'rotate key':
      return world.call('POST', `${path}/rotate-key`, {
        ...byOwner,
        body: { revoke_immediately: true },
      });
    case 'switch off agent':
      return world.call('PUT', path, { ...byOwner, body: { is_active: false } });
    case 'delete agent':
      return world.call('DELETE', path, byOwner);
    case 'let both expire':
      world.advance(LIFETIME);
      return world.call('POST', '/v1/permissions', { token: otherAgent.key, body: REQUEST });
    case 'switch off account':
      return world.call('PATCH', `/v1/admin/users/${account.id}`, {
        token: env.ADMIN_TOKEN,
        body: { is_active: false },
      });
  }
}

/**
 * Runs the requests, releasing their batches in the given order; returns the successful ones in
 * commit order.
 */
async function run(
  requests: Map<string, (world: World) => Promise<Answer>>,
  gate: Gate,
  order: Iterator<number>,
) {
  const answers = new Map<string, Answer>();
  const entered: string[] = [];
  const all = [...requests].map(async ([name, send]) => {
    answers.set(name, await send(new World({ DB: gate.bindingFor(name) })));
  });
  while (answers.size < requests.size) {
    // The request whose batch was let through continues to its next batch or to its answer.
    while (gate.size < requests.size - answers.size)
      await new Promise((resolve) => setTimeout(resolve));
    if (gate.size > 0) entered.push(await gate.open(order.next().value));
  }
  await Promise.all(all);
  // The last batch of a request that succeeded is the one that wrote.
  const committed = [...requests.keys()]
    .filter((name) => (answers.get(name)?.status ?? 500) < 300)
    .toSorted((a, b) => entered.lastIndexOf(a) - entered.lastIndexOf(b));
  return { answers, committed };
}

async function createRequests({ agent }: Scene, count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, async () => (await agent.request()).id));
}

it('the service commits no write after the end of its credential, in any order of transactions', {
  timeout: 120_000,
}, async () => {
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(plans, async ({ writes, endings, order }) => {
      const scene = await makeScene();
      const permissions = await createRequests(scene, writes.length);
      const requests = new Map<string, (world: World) => Promise<Answer>>();
      for (const [i, write] of writes.entries()) {
        const { path, body, credential } = describeWrite(write, scene, permissions[i] ?? '');
        requests.set(`${i} ${write}`, (world) =>
          world.call('POST', path, { token: credential, body }),
        );
      }
      for (const ending of endings) requests.set(ending, (world) => end(ending, world, scene));
      const before = (await scene.account.log()).length;
      const { answers, committed } = await run(requests, new Gate(), order);
      for (const ending of endings) {
        const place = committed.indexOf(ending);
        if (place < 0) continue;
        const later = committed.slice(place + 1).filter((name) => /^\d/.test(name));
        expect(later.filter((name) => forbids(ending, name.slice(2) as Write))).toEqual([]);
      }
      const failed = [...answers].filter(([name]) => !committed.includes(name));
      refused += failed.length;
      // Requests fail only because a credential ended.
      for (const [, { body }] of failed) {
        expect(REFUSALS).toContain(body.code);
      }
      await expectLogToAgree(scene.account, committed, before);
    }),
    { numRuns: RUNS, seed: 14 },
  );
  expect(refused).toBeGreaterThan(RUNS);
  expect(await checkIntegrity(env.DB)).toEqual([]);
});

/**
 * Checks that the log grew by one entry for each request, denial and use that succeeded, in the
 * order of their commits. The log shows no entry of a deleted agent.
 * @param before how many entries the log had before
 */
async function expectLogToAgree(
  account: TestAccount,
  committed: string[],
  before: number,
): Promise<void> {
  const isDeleted = committed.includes('delete agent');
  const events: Record<string, string> = { request: 'request', deny: 'deny', use: 'use' };
  const eventsOf = (name: string) => {
    if (name === 'let both expire') return 'request';
    return isDeleted ? [] : (events[name.slice(2)] ?? []);
  };
  await account.world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
    token: env.ADMIN_TOKEN,
    body: { is_active: true },
  });
  const log = await account.log();
  const added = log.slice(isDeleted ? 0 : before);
  expect(added.map(({ event_type }) => event_type)).toEqual(committed.flatMap(eventsOf));
}
