import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { Mover } from '../../../src/accounts/move/mover';
import type { MoverShard } from '../../../src/accounts/move/shard';
import { Cost, Database } from '../../../src/db/database';
import { checkVotes, watchApprovals } from '../../support/check-votes';
import { FaultyDatabase } from '../../support/faults';
import { checkIntegrity } from '../../support/integrity';
import { findRemains, isMoving, orderHeldMove, orderMove, settleMoves } from '../../support/moves';
import { approve, deny, makeReview, type ReviewScene, refusal } from '../../support/reviews';
import { DATABASES } from '../../support/shards';
import { emptyTables } from '../../support/tables';
import { type Json, World } from '../../support/world';

const ROLES = ['approver', 'approver', 'approver', 'approver', 'approver'];

const first = new FaultyDatabase(env.DB);

beforeEach(async () => {
  first.arm(null);
  for (const database of Object.values(DATABASES)) {
    await database.exec('delete from moves');
    await emptyTables(database);
    await watchApprovals(database);
  }
});

async function makeScene(approvals: number): Promise<ReviewScene> {
  const rule = { approvals, escalation: { after: 60, roles: ['admin'] } };
  const scene = await makeReview(rule, ROLES, { world: new World({ DB: first.binding }) });
  Object.assign(scene.world.env, { DB_01: env.DB_01 });
  return scene;
}

async function read({ account }: ReviewScene, id: string): Promise<Json> {
  return (await account.must(200, 'GET', `/v1/permissions/${id}`)).body;
}

async function expectSound({ account }: ReviewScene): Promise<void> {
  expect(await checkVotes(env.DB_01, [env.DB, env.DB_01])).toEqual([]);
  expect(await checkIntegrity(env.DB_01)).toEqual([]);
  expect(
    (await account.log()).filter(({ event_type: type }) => type === 'approve').length,
  ).toBeLessThanOrEqual(1);
}

/** Moves the account slice by slice, so that other things happen between the slices. */
function openMover(): Mover {
  const shards = ['00', '01'].map((name) => {
    return { name, database: new Database(DATABASES[name] as D1Database, new Cost()) };
  }) as [MoverShard, MoverShard];
  return new Mover(shards[0], shards, { rows: 8, characters: 20_000, entries: 8 });
}

it.each([6, 1, 3, 9, 12, 16])(
  'votes before a move, after %d slices of it and after it count once each',
  async (slices) => {
    const scene = await makeScene(4);
    const { world, account, agent, people } = scene;
    const { id } = await agent.request({ scope: { limit: 9 } });
    await approve(scene, people[0], id, { scope: { limit: 8 } });
    await orderMove(world, account.id, '01');
    const mover = openMover();
    for (let n = 0; n < slices; n++) await mover.moveSlice(world.now);
    const during = await approve(scene, people[1], id, { scope: { limit: 7 } });
    // While the last rows are copied, the account answers nothing.
    if (during.status !== 200) expect(refusal(during)).toEqual([503, 'unavailable']);
    await settleMoves(world);
    if (during.status !== 200) await approve(scene, people[1], id, { scope: { limit: 7 } });
    expect((await read(scene, id)).review.votes.map(({ by }: Json) => by)).toEqual([
      people[0].id,
      people[1].id,
    ]);
    for (const person of people.slice(0, 2)) {
      expect(refusal(await approve(scene, person, id))).toEqual([409, 'already_voted']);
    }
    expect((await approve(scene, people[2], id)).body.status).toBe('pending');
    const last = await approve(scene, people[3], id, { scope: { limit: 6 } });
    expect(last.body).toMatchObject({ status: 'approved', granted_scope: { limit: 6 } });
    expect((await account.log()).at(-1)?.details.votes).toHaveLength(4);
    await expectSound(scene);
    world.advance(60_000);
    await world.sweep();
    expect(await findRemains(env.DB)).toEqual([]);
  },
);

it.each([
  ['a vote', 3, 'pending'],
  ['a vote that settles', 2, 'approved'],
] as const)(
  '%s in flight when the account is held is refused, and counts once after the move',
  async (_, approvals, status) => {
    const scene = await makeScene(approvals);
    const { world, account, agent, people } = scene;
    const { id } = await agent.request({ scope: { limit: 9 } });
    await approve(scene, people[0], id);
    first.before(2, () => orderHeldMove(world, account.id, '01'));
    expect(refusal(await approve(scene, people[1], id))).toEqual([503, 'unavailable']);
    await settleMoves(world);
    expect((await read(scene, id)).review.votes).toHaveLength(1);
    expect((await approve(scene, people[1], id)).body.status).toBe(status);
    expect((await read(scene, id)).review.votes).toHaveLength(2);
    await expectSound(scene);
  },
);

it('a vote whose answer was lost before the move is answered after it, and counts once', async () => {
  const scene = await makeScene(2);
  const { world, account, agent, people } = scene;
  const { id } = await agent.request();
  const send = () =>
    world.call('POST', `/v1/permissions/${id}/approve`, {
      ...{ token: people[0].token, body: {}, headers: { 'Idempotency-Key': 'vote-once' } },
    });
  first.arm({ call: 2, mode: 'after' });
  expect((await send()).status).toBe(503);
  first.arm(null);
  await orderMove(world, account.id, '01');
  await settleMoves(world);
  const again = await send();
  expect([again.status, again.headers.get('Idempotent-Replayed')]).toEqual([200, 'true']);
  expect((await read(scene, id)).review.votes).toHaveLength(1);
  expect((await approve(scene, people[1], id)).body.status).toBe('approved');
  await expectSound(scene);
});

it('people who vote at once while the account moves are counted as often as the rule demands', async () => {
  const scene = await makeScene(3);
  const { world, account, agent, people } = scene;
  const { id } = await agent.request();
  await orderMove(world, account.id, '01');
  const mover = openMover();
  const outcomes: string[] = [];
  const vote = async (person: (typeof people)[number]) => {
    const { status, body } = await approve(scene, person, id);
    outcomes.push(body.code ?? status);
  };
  await mover.moveSlice(world.now);
  await Promise.all([vote(people[0]), mover.moveSlice(world.now)]);
  await Promise.all([
    mover.moveSlice(world.now),
    vote(people[1]),
    vote(people[2]),
    vote(people[3]),
  ]);
  while (await isMoving()) await settleMoves(world);
  await Promise.all(people.map((person) => vote(person)));
  expect(outcomes.filter((outcome) => outcome === '200' || Number(outcome) === 200)).toHaveLength(
    3,
  );
  const { status, review } = await read(scene, id);
  expect([status, review.votes.length]).toEqual(['approved', 3]);
  await expectSound(scene);
});

/** Has one person approve a request, and then moves the account for four slices. */
async function approveAndBeginMove(scene: ReviewScene): Promise<string> {
  const { world, account, agent, people } = scene;
  const { id } = await agent.request();
  await approve(scene, people[0], id);
  await orderMove(world, account.id, '01');
  const mover = openMover();
  for (let n = 0; n < 4; n++) await mover.moveSlice(world.now);
  return id;
}

it('a move between an approval and a suspension changes nothing: the vote counts no longer', async () => {
  const scene = await makeScene(2);
  const { world, account, people } = scene;
  const id = await approveAndBeginMove(scene);
  await account.must(200, 'PUT', `/v1/members/${people[0].id}`, { status: 'suspended' });
  await settleMoves(world);
  expect((await approve(scene, people[1], id)).body.status).toBe('pending');
  expect((await approve(scene, people[2], id)).body.status).toBe('approved');
  await expectSound(scene);
});

it('an escalation that becomes due during a move is recorded once', async () => {
  const scene = await makeScene(2);
  const { world, account, people } = scene;
  const id = await approveAndBeginMove(scene);
  world.advance(60_000);
  const target = new World({ DB: env.DB_01 });
  target.now = world.now;
  await target.sweep();
  await settleMoves(world);
  await world.sweep();
  const { body } = await account.must(200, 'GET', '/v1/activity?action=permission.escalated');
  expect(body.data).toMatchObject([{ target: id }]);
  expect((await read(scene, id)).review.escalated_at).not.toBeNull();
  expect((await deny(scene, people[0], id)).body.status).toBe('denied');
  await expectSound(scene);
});
