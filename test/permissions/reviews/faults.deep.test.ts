import { env } from 'cloudflare:test';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Cost, Database } from '../../../src/db/database';
import { SERVICE_AUTHORITY } from '../../../src/ledger/authority';
import { Ledger } from '../../../src/ledger/ledger';
import { expireOverdue } from '../../../src/permissions/expire';
import { escalateReviews } from '../../../src/permissions/reviews/escalate';
import { checkVotes, watchApprovals } from '../../support/check-votes';
import { failingCalls } from '../../support/failing-calls';
import { type FaultMode, FaultyDatabase } from '../../support/faults';
import { checkIntegrity } from '../../support/integrity';
import type { TestMember } from '../../support/members';
import {
  approve,
  deny,
  makeReview,
  type People,
  type ReviewScene,
  refusal,
  sign,
} from '../../support/reviews';
import { saveTables } from '../../support/tables';
import { type Answer, type Json, World } from '../../support/world';

const MODES: FaultMode[] = ['before', 'after'];
const MINUTE = 60_000;

const database = new FaultyDatabase(env.DB);
let scene: ReviewScene;
let boss: TestMember;
let restore: () => Promise<void>;
let start: number;

beforeAll(async () => {
  await watchApprovals(env.DB);
  const rule = ([, , , , boss]: People) => ({
    ...{ approvals: 3, roles: ['approver'], escalation: { after: 60, members: [boss?.id] } },
  });
  const roles = ['approver', 'approver', 'approver', 'approver', 'admin'];
  scene = await makeReview(rule, roles, { world: new World({ DB: database.binding }) });
  boss = scene.people[4] as TestMember;
  // Credentials are marked as used once a minute: not in these tests, so that every run makes the
  // same calls.
  for (const { token } of scene.people) await scene.world.must(200, 'GET', '/v1/me', { token });
  start = scene.world.now;
  restore = await saveTables(env.DB);
});

beforeEach(again);

async function again(): Promise<void> {
  database.arm(null);
  await env.DB.exec('delete from _approvals');
  await restore();
  scene.world.now = start;
}

async function read(id: string): Promise<Json> {
  return (await scene.account.must(200, 'GET', `/v1/permissions/${id}`)).body;
}

interface Operation {
  /** Votes that were cast before. */
  votes: number;
  act: (id: string, headers: Record<string, string>) => Promise<Answer>;
  /** The status and the number of votes once it has happened. */
  result: [string, number];
  /** What it is answered if it is sent again after it has happened, without an idempotency key. */
  repeated: [number, string];
}

const post = (path: string, token: string, body: Json, headers: Record<string, string>) =>
  scene.world.call('POST', path, { token, body, headers });
const vote =
  (n: number, what: string, body: Json = {}) =>
  (id: string, headers: Record<string, string>) =>
    post(`/v1/permissions/${id}/${what}`, scene.people[n]?.token ?? '', body, headers);

const OPERATIONS: Record<string, Operation> = {
  'a vote that does not settle': {
    votes: 0,
    act: vote(0, 'approve', { scope: { limit: 5 }, max_uses: 2 }),
    result: ['pending', 1],
    repeated: [409, 'already_voted'],
  },
  'the vote that settles': {
    votes: 2,
    act: vote(2, 'approve', { scope: { limit: 3 } }),
    result: ['approved', 3],
    repeated: [409, 'not_pending'],
  },
  'a denial after an approval': {
    votes: 1,
    act: vote(0, 'deny', { reason: 'On second thought' }),
    result: ['denied', 2],
    repeated: [409, 'not_pending'],
  },
  'a withdrawal after an approval': {
    votes: 1,
    act: (id, headers) => post(`/v1/permissions/${id}/withdraw`, scene.agent.key, {}, headers),
    result: ['expired', 1],
    repeated: [409, 'not_pending'],
  },
};

async function prepare({ votes }: Pick<Operation, 'votes'>): Promise<string> {
  const { id } = await scene.agent.request({ scope: { limit: 9 }, max_uses: 3 });
  for (const person of scene.people.slice(0, votes))
    await approve(scene, person, id, { scope: { limit: 7 } });
  return id;
}

async function expectSound(): Promise<void> {
  expect(await checkVotes(env.DB)).toEqual([]);
  expect(await checkIntegrity(env.DB)).toEqual([]);
}

describe.each(Object.entries(OPERATIONS))('%s', (_, operation) => {
  const { act, result, repeated } = operation;
  const state = async (id: string) => {
    const { status, review } = await read(id);
    return [status, review.votes.length];
  };

  it.each(MODES)(
    'happens once if it is sent again after a database call failed %s it took effect',
    async (mode) => {
      for (const key of [null, 'once']) {
        for (const call of [2, 1]) {
          const id = await prepare(operation);
          const before = await state(id);
          const headers: Record<string, string> = key
            ? { 'Idempotency-Key': `${key}-${call}` }
            : {};
          database.arm({ call, mode });
          expect(refusal(await act(id, headers))).toEqual([503, 'unavailable']);
          expect(database.calls).toBe(call);
          database.arm(null);
          const hasHappened = call === 2 && mode === 'after';
          expect(await state(id)).toEqual(hasHappened ? result : before);
          expect(await checkVotes(env.DB)).toEqual([]);
          const answer = await act(id, headers);
          if (hasHappened && !key) expect(refusal(answer)).toEqual(repeated);
          else {
            expect([answer.status, answer.body.status]).toEqual([200, result[0]]);
            expect(answer.headers.get('Idempotent-Replayed')).toBe(hasHappened ? 'true' : null);
          }
          expect(await state(id)).toEqual(result);
          await expectSound();
        }
      }
    },
  );

  it.runIf(result[0] !== 'approved').each(MODES)(
    'happens once if another vote came first and a later call failed %s it took effect',
    async (mode) => {
      for (const call of [4, 3, 2]) {
        const id = await prepare(operation);
        const elsewhere = new World();
        elsewhere.now = scene.world.now;
        database.arm({ call, mode });
        database.before(2, () =>
          approve({ world: elsewhere }, scene.people[3], id, { scope: { limit: 6 } }),
        );
        const answer = await act(id, {});
        // The second call fails by itself, because the other vote has its number.
        expect(answer.status).toBe(call === 2 && mode === 'after' ? 200 : 503);
        database.arm(null);
        expect((await act(id, {})).status).toBeLessThan(500);
        expect(await state(id)).toEqual([result[0], result[1] + 1]);
        await expectSound();
      }
    },
  );
});

describe('a signed vote', () => {
  it.each(MODES)(
    'is stored once with its signature after a call failed %s it took effect',
    async (mode) => {
      const id = await prepare({ votes: 2 });
      const signed = await sign(scene, scene.people[2], id, {
        decision: 'approve',
        scope: { limit: 3 },
      });
      database.arm({ call: 2, mode });
      expect((await approve(scene, scene.people[2], id, signed)).status).toBe(503);
      database.arm(null);
      const answer = await approve(scene, scene.people[2], id, signed);
      expect(answer.body.code ?? answer.status).toBe(mode === 'before' ? 200 : 'not_pending');
      const { votes } = (await scene.account.log()).at(-1).details;
      expect(votes.map(({ signed }: Json) => signed)).toEqual([false, false, true]);
      expect(votes[2].signature.signature).toBe(signed.assertion.response.signature);
      await expectSound();
    },
  );
});

describe('a sweep with a failing call', () => {
  const escalated = async () =>
    (
      await scene.account.must(200, 'GET', '/v1/activity?action=permission.escalated')
    ).body.data.map(({ target }: Json) => target);

  /** The number of calls of a sweep that does the work. */
  async function countCalls(passed: number): Promise<number> {
    await prepare({ votes: 1 });
    scene.world.advance(passed);
    database.arm(null);
    await scene.world.sweep();
    return database.calls;
  }

  it.each(MODES)(
    '%s it takes effect records each escalation once, at the next sweep at the latest',
    async (mode) => {
      for (const call of failingCalls(await countCalls(MINUTE), 1)) {
        const ids = [await prepare({ votes: 2 }), await prepare({ votes: 0 })];
        scene.world.advance(MINUTE);
        database.arm({ call, mode });
        await scene.world.sweep();
        database.arm(null);
        await scene.world.sweep();
        expect((await escalated()).filter((id: string) => ids.includes(id)).toSorted()).toEqual(
          ids.toSorted(),
        );
        expect((await approve(scene, boss, ids[0] ?? '')).body.status).toBe('approved');
        await expectSound();
      }
    },
  );

  it.each(MODES)('%s it takes effect expires each request once with its votes', async (mode) => {
    const HOUR = 60 * MINUTE;
    for (const call of failingCalls(await countCalls(HOUR), 1)) {
      const ids = [await prepare({ votes: 1 }), await prepare({ votes: 0 })];
      scene.world.advance(HOUR);
      database.arm({ call, mode });
      await scene.world.sweep();
      database.arm(null);
      await scene.world.sweep();
      for (const [i, id] of ids.entries()) {
        const entries = await scene.account.log(`&permission_id=${id}&event_type=expire`);
        expect(entries.map(({ details }) => details.votes.length)).toEqual([1 - i]);
      }
      expect(await escalated()).toEqual([]);
      expect(refusal(await deny(scene, scene.people[0], ids[0] ?? ''))).toEqual([
        409,
        'not_pending',
      ]);
      await expectSound();
    }
  });
});

describe('between the read and the write of a sweep', () => {
  /** What the tasks of the sweep work with. */
  function openWith(client: D1Database) {
    const reader = new Database(client, new Cost());
    return { reader, ledger: new Ledger(reader, SERVICE_AUTHORITY), runtime: scene.world.runtime };
  }
  const open = () => openWith(database.binding);
  const elsewhere = new World();

  it('a vote keeps its request from expiring without it: the next sweep expires it with the vote', async () => {
    const ids = [await prepare({ votes: 0 }), await prepare({ votes: 1 })];
    // The clock of the voter is behind.
    elsewhere.now = start;
    scene.world.advance(60 * MINUTE);
    database.before(2, () => approve({ world: elsewhere }, scene.people[2], ids[0] ?? ''));
    await expireOverdue(open());
    const votes = async (id = '') =>
      (await scene.account.log(`&permission_id=${id}&event_type=expire`)).map(
        ({ details }) => details.votes.length,
      );
    expect([await votes(ids[0]), await votes(ids[1])]).toEqual([[], [1]]);
    await expireOverdue(open());
    expect([await votes(ids[0]), await votes(ids[1])]).toEqual([[1], [1]]);
    await expectSound();
  });

  it.each<[string, (id: string) => Promise<unknown>]>([
    ['is decided', (id) => deny({ world: elsewhere }, scene.people[0], id)],
    [
      'is withdrawn',
      (id) => elsewhere.call('POST', `/v1/permissions/${id}/withdraw`, { token: scene.agent.key }),
    ],
    [
      'loses its agent',
      () =>
        elsewhere.must(204, 'DELETE', `/v1/agents/${scene.agent.id}`, {
          token: scene.account.token,
        }),
    ],
    ['escalates in another sweep', () => escalateReviews(openWith(env.DB))],
  ])('a request that %s does not escalate', async (title, happens) => {
    const id = await prepare({ votes: 1 });
    scene.world.advance(MINUTE);
    elsewhere.now = scene.world.now;
    database.before(2, () => happens(id));
    await escalateReviews(open());
    const { body } = await scene.account.must(
      200,
      'GET',
      '/v1/activity?action=permission.escalated',
    );
    expect(body.data).toHaveLength(title.startsWith('escalates') ? 1 : 0);
  });

  it('nothing escalates that nobody can decide any more', async () => {
    const { id } = await scene.agent.request({ expires_in: 60 });
    const spare = await scene.account.agent();
    await spare.request();
    await scene.account.must(204, 'DELETE', `/v1/agents/${spare.id}`);
    scene.world.advance(MINUTE);
    await escalateReviews(open());
    const { body } = await scene.account.must(
      200,
      'GET',
      '/v1/activity?action=permission.escalated',
    );
    expect(body.data).toEqual([]);
    expect((await read(id)).status).toBe('expired');
  });
});
