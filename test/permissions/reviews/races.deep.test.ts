import { env } from 'cloudflare:test';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkVotes, watchApprovals } from '../../support/check-votes';
import { FaultyDatabase } from '../../support/faults';
import { checkIntegrity } from '../../support/integrity';
import { makeMember, type TestMember } from '../../support/members';
import { approve, deny, type ReviewScene, refusal } from '../../support/reviews';
import { saveTables } from '../../support/tables';
import {
  type Answer,
  type Json,
  type TestAccount,
  type TestAgent,
  World,
} from '../../support/world';

const VOTERS = 50;
const APPROVALS = [1, 2, 3, 5];
const HOUR = 3_600_000;

const database = new FaultyDatabase(env.DB);
const world = new World({ DB: database.binding });
/**
 * What happens at the same moment comes from elsewhere: its database calls are not counted, and its
 * clock is its own.
 */
const elsewhere = new World();
let account: TestAccount;
let agent: TestAgent;
let voters: TestMember[];
let restore: () => Promise<void>;
let start: number;

beforeAll(async () => {
  await watchApprovals(env.DB);
  account = await world.account({ plan: 'pro' });
  voters = [];
  for (let n = 0; n < VOTERS; n++) voters.push(await makeMember(account, 'approver'));
  for (const approvals of APPROVALS) {
    await account.must(201, 'POST', '/v1/policies', {
      ...{
        name: 'People decide',
        effect: 'review',
        actions: [`need.${approvals}`],
        resources: ['*'],
      },
      review: { approvals, roles: ['approver', 'admin'] },
    });
  }
  agent = await account.agent();
  world.advance(1);
  start = world.now;
  restore = await saveTables(env.DB);
});

beforeEach(async () => {
  await env.DB.exec('delete from _approvals');
  await restore();
  world.now = start;
  elsewhere.now = start;
  database.arm(null);
});

/** A request that needs some approvals, and that any of the voters may approve. */
function request(approvals: number): Promise<Json> {
  const fields = { action: `need.${approvals}`, scope: { limit: 100 }, max_uses: 9 };
  return agent.request(fields);
}

async function read(id: string): Promise<Json> {
  return (await account.must(200, 'GET', `/v1/permissions/${id}`)).body;
}

async function expectSound(): Promise<void> {
  expect(await checkVotes(env.DB)).toEqual([]);
  expect(
    (await checkIntegrity(env.DB)).filter((fault) => !fault.startsWith('an entry without')),
  ).toEqual([]);
}

const voter = (n: number) => voters[n] as TestMember;

/** Sends something at the same moment, with the account's token. */
const change = (method: string, path: string, body?: unknown) =>
  elsewhere.call(method, path, { token: account.token, ...(body !== undefined && { body }) });

/** Expects that every answer but 200 says that the permission is no longer pending. */
function expectOthersTooLate(answers: Answer[]): void {
  const refused = answers.filter(({ status }) => status !== 200);
  expect(new Set(refused.map((answer) => String(refusal(answer))))).toEqual(
    new Set(['409,not_pending']),
  );
}

describe.each(APPROVALS)('of many people who approve at once, where %d have to', (approvals) => {
  it('exactly as many are counted, one token is issued, and everybody else gets not_pending', async () => {
    const { id } = await request(approvals);
    const answers = await Promise.all(voters.map((voter) => approve({ world }, voter, id)));
    const votes = answers.filter(({ status }) => status === 200);
    expect(votes).toHaveLength(approvals);
    expectOthersTooLate(answers);
    const permission = await read(id);
    expect(permission.review.votes).toHaveLength(approvals);
    // The answer to each vote shows the votes up to it.
    const inOrder = votes.toSorted(
      (a, b) => a.body.review.votes.length - b.body.review.votes.length,
    );
    for (const [i, { body }] of inOrder.entries()) {
      expect(body.review.votes).toEqual(permission.review.votes.slice(0, i + 1));
      expect(body.status).toBe(i + 1 === approvals ? 'approved' : 'pending');
    }
    expect(permission).toMatchObject({
      status: 'approved',
      decided_by: permission.review.votes.at(-1).by,
    });
    expect(inOrder.at(-1)?.body.token).toEqual(permission.token);
    const log = await account.log(`&permission_id=${id}`);
    expect(log.map(({ event_type: type }) => type)).toEqual(['request', 'approve']);
    expect(log[1].details.votes).toHaveLength(approvals);
    await expectSound();
    // A vote reads and writes. Each vote that came first costs it two more round trips, and finding
    // the end one.
    const trips = (answer: Answer) => answer.cost.trips;
    for (const [i, answer] of inOrder.entries()) {
      expect(trips(answer) % 2).toBe(0);
      expect(trips(answer)).toBeLessThanOrEqual(2 * (i + 1));
    }
    expect(Math.max(...answers.map(trips))).toBeLessThanOrEqual(2 * approvals + 1);
  });

  it('each may narrow the limits, and none can widen what another one has left', async () => {
    const { id } = await request(approvals);
    const answers = await Promise.all(
      voters.map((voter, i) => {
        const narrowed = {
          scope: { limit: 100 - ((i * 7) % 5) },
          max_uses: 9 - (i % 3),
          token_ttl: 900 - (i % 4),
        };
        return approve({ world }, voter, id, narrowed);
      }),
    );
    for (const answer of answers) {
      if (answer.status === 200) continue;
      expect(String(refusal(answer))).toBeOneOf(['409,not_pending', '400,scope_widened']);
    }
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(approvals);
    await expectSound();
  });

  it('one who sends the same approval five times is counted once', async () => {
    const { id } = await request(approvals);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => approve({ world }, voter(0), id)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const code = approvals === 1 ? 'not_pending' : 'already_voted';
    expect(
      new Set(answers.filter(({ status }) => status !== 200).map(({ body }) => body.code)),
    ).toEqual(new Set([code]));
    expect((await read(id)).review.votes).toHaveLength(1);
    await expectSound();
  });

  it('a single one who denies ends it, or comes too late', async () => {
    const { id } = await request(approvals);
    const answers = await Promise.all(
      voters.slice(0, 12).map((voter, i) => (i % 4 === 2 ? deny : approve)({ world }, voter, id)),
    );
    expectOthersTooLate(answers);
    const { status, review } = await read(id);
    expect(status).toBeOneOf(['approved', 'denied']);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(review.votes.length);
    await expectSound();
  });
});

/** What can happen to a review while people vote. `victim` is a voter. */
const EVENTS: Record<string, (id: string, victim: TestMember) => Promise<unknown>> = {
  'a voter is suspended': (_, { id }) =>
    change('PUT', `/v1/members/${id}`, { status: 'suspended' }),
  'a voter is demoted': (_, { id }) => change('PUT', `/v1/members/${id}`, { role: 'auditor' }),
  'a voter gets another role that may decide': (_, { id }) =>
    change('PUT', `/v1/members/${id}`, { role: 'admin' }),
  'a voter is removed': (_, { id }) => change('DELETE', `/v1/members/${id}`),
  'a voter becomes the owner of the agent': (_, { id: owner_id }) =>
    change('PUT', `/v1/agents/${agent.id}`, { owner_id }),
  'the agent is deleted': () => change('DELETE', `/v1/agents/${agent.id}`),
  'the agent withdraws it': (id) =>
    elsewhere.call('POST', `/v1/permissions/${id}/withdraw`, { token: agent.key, body: {} }),
  'it expires': async () => {
    elsewhere.now = start + HOUR;
    await elsewhere.sweep();
  },
  'somebody denies it': (id) => deny({ world: elsewhere }, voter(5), id),
};

/** How a person may be answered. Only the one to whom it happens may lose access. */
const FOR_OTHERS = ['200', '409 not_pending', '404 not_found'];
const FOR_VICTIM = [
  ...FOR_OTHERS,
  ...[
    '401 unauthorized',
    '403 insufficient_scope',
    '403 account_inactive',
    '403 not_a_reviewer',
    '403 self_approval',
  ],
];

describe.each(Object.entries(EVENTS))('while many people approve and %s', (name, happens) => {
  it.each(APPROVALS)('the votes, the log and the token agree (%d approvals)', async (approvals) => {
    for (let turn = 0; turn < 3; turn++) {
      const { id } = await request(approvals);
      const crowd = voters.slice(0, 12).filter((_, i) => i !== 5);
      const calls: (() => Promise<unknown>)[] = crowd.map(
        (voter) => () => approve({ world }, voter, id),
      );
      const place = (4 + turn * 5) % crowd.length;
      calls.splice(place, 0, () => happens(id, voter(1)));
      const answers = await Promise.all(calls.map((call) => call()));
      for (const [i, answer] of (answers.toSpliced(place, 1) as Answer[]).entries()) {
        const outcome = `${answer.status} ${answer.body.code ?? ''}`.trim();
        // A role that changes in flight and may still decide: the same request succeeds when it
        // is sent again.
        const isRetry =
          outcome === '503 unavailable' && name.includes('another role') && crowd[i] === voter(1);
        if (!isRetry) expect(outcome).toBeOneOf(crowd[i] === voter(1) ? FOR_VICTIM : FOR_OTHERS);
      }
      await expectSound();
      await restore();
      await env.DB.exec('delete from _approvals');
      elsewhere.now = start;
    }
  });
});

describe('a settling vote during which', () => {
  /** What the vote of the second person is answered, and whether the request is then approved. */
  const CASES: [string, 0 | 1, string, string][] = [
    // The first voter stops counting: the vote is stored, but does not settle.
    ['a voter is suspended', 0, '200', 'pending'],
    ['a voter is demoted', 0, '200', 'pending'],
    ['a voter gets another role that may decide', 0, '200', 'pending'],
    ['a voter is removed', 0, '200', 'pending'],
    ['a voter becomes the owner of the agent', 0, '200', 'pending'],
    // The same happens to the person who is voting.
    ['a voter is suspended', 1, '401 unauthorized', 'pending'],
    ['a voter is demoted', 1, '403 insufficient_scope', 'pending'],
    ['a voter gets another role that may decide', 1, '403 not_a_reviewer', 'pending'],
    ['a voter is removed', 1, '401 unauthorized', 'pending'],
    ['a voter becomes the owner of the agent', 1, '403 self_approval', 'pending'],
    ['the agent is deleted', 0, '404 not_found', ''],
    ['the agent withdraws it', 0, '409 not_pending', 'expired'],
    ['it expires', 0, '409 not_pending', 'expired'],
    ['somebody denies it', 0, '409 not_pending', 'denied'],
  ];

  it.each(CASES)('%s (voter %d) is answered %s', async (name, victim, outcome, status) => {
    const { id } = await request(2);
    await approve({ world }, voter(0), id, { scope: { limit: 70 } });
    database.before(2, () => EVENTS[name]?.(id, voter(victim)) ?? Promise.reject(new Error(name)));
    const answer = await approve({ world }, voter(1), id, { max_uses: 2 });
    expect(`${answer.status} ${answer.body.code ?? ''}`.trim()).toBe(outcome);
    await expectSound();
    if (status === '') return;
    const permission = await read(id);
    expect(permission.status).toBe(status);
    if (outcome !== '200') return;
    expect(answer.body).toMatchObject({ status: 'pending', token: null });
    expect(permission.review.votes.map(({ by }: Json) => by)).toEqual([voter(0).id, voter(1).id]);
    // A third person settles it, within what both have left.
    const third = await approve({ world }, voter(2), id);
    expect(third.body).toMatchObject({
      status: 'approved',
      granted_scope: { limit: 70 },
      token: { max_uses: 2 },
    });
    await expectSound();
  });

  it('the escalation begins counts the vote of a person who is a reviewer by it', async () => {
    const admin = await makeMember(account, 'admin');
    await account.must(201, 'POST', '/v1/policies', {
      ...{ name: 'More people', effect: 'review', actions: ['need.more'], resources: ['*'] },
      review: { approvals: 2, roles: ['approver'], escalation: { after: 60, roles: ['admin'] } },
    });
    world.advance(1);
    const { id } = await agent.request({ action: 'need.more' });
    world.advance(59_999);
    database.before(2, () => {
      world.advance(1);
      elsewhere.now = world.now;
      return approve({ world: elsewhere }, admin, id);
    });
    const { body, cost } = await approve({ world }, voter(0), id);
    expect([body.status, cost.trips]).toEqual(['approved', 4]);
    expect(body.review.votes.map(({ by }: Json) => by)).toEqual([admin.id, voter(0).id]);
  });

  it('the policy is deleted, or its rule demands more, settles all the same', async () => {
    for (const method of ['DELETE', 'PUT']) {
      const { id, review } = await request(2);
      expect(review.approvals_required).toBe(2);
      await approve({ world }, voter(0), id);
      const { policy_id: policy } = (await read(id)).review;
      database.before(2, () =>
        change(
          method,
          `/v1/policies/${policy}`,
          method === 'PUT' ? { review: { approvals: 5 } } : undefined,
        ),
      );
      expect((await approve({ world }, voter(1), id)).body.status).toBe('approved');
      await restore();
    }
  });
});

describe('the round trips', () => {
  const scene = { world } as ReviewScene;

  it('of a vote that loses to another vote are four, and three if that one settled', async () => {
    const { id } = await request(3);
    database.before(2, () => approve({ world: elsewhere }, voter(0), id));
    const second = await approve(scene, voter(1), id);
    expect([second.status, second.body.review.votes.length, second.cost.trips]).toEqual([
      200, 2, 4,
    ]);
    database.before(2, () => approve({ world: elsewhere }, voter(2), id));
    const late = await approve(scene, voter(3), id);
    expect([...refusal(late), late.cost.trips]).toEqual([409, 'not_pending', 3]);
  });

  it('of a refusal before the write is one', async () => {
    const { id } = await request(2);
    await approve(scene, voter(0), id);
    const again = await approve(scene, voter(0), id);
    expect([...refusal(again), again.cost.trips]).toEqual([409, 'already_voted', 1]);
  });
});

it('an approval that is sent four times at once with one idempotency key is stored once, and has one answer', async () => {
  const { id } = await request(2);
  const call = { token: voter(0).token, body: {}, headers: { 'Idempotency-Key': 'vote-once' } };
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => world.call('POST', `/v1/permissions/${id}/approve`, call)),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect((await read(id)).review.votes).toHaveLength(1);
  await expectSound();
});
