import { describe, expect, it } from 'vitest';
import { depth } from '../../support/depth';
import { makeMember } from '../../support/members';
import {
  copyMany,
  makeOutcomeScene,
  REPORT_PERIOD,
  report,
  usePromised,
} from '../../support/outcomes';
import type { Answer, Json, TestAccount, TestAgent, World } from '../../support/world';

type Caller = Pick<TestAccount, 'call'>;

/** The most rows that a page of 50 reads. */
const MOST_READ = 350;

async function readPage(caller: Caller, query: string): Promise<Answer> {
  const answer = await caller.call('GET', `/v1/permissions?${query}`);
  expect(answer.status).toBe(200);
  return answer;
}

/** The permissions on every page, newest first. */
async function list(caller: Caller, query: string, limit = 100): Promise<Json[]> {
  const found: Json[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Json = (
      await readPage(caller, `limit=${limit}&${query}${cursor && `&cursor=${cursor}`}`)
    ).body;
    found.push(...page.data);
    cursor = page.next_cursor;
  }
  return found;
}

const idsOf = (permissions: Json[]): string[] => permissions.map(({ id }) => id);

/** A generator of whole numbers below a bound: the same ones in every run. */
function dice(seed: number) {
  let state = seed;
  return (sides: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

/** Uses permissions of two agents at different times, and reports some outcomes. */
async function fill(world: World, agents: readonly TestAgent[], count: number, seed: number) {
  const roll = dice(seed);
  const actions = ['email.send', 'payment.send'];
  for (let i = 0; i < count; i++) {
    const agent = agents[roll(agents.length)] as TestAgent;
    const fields = { action: actions[roll(2)], token_ttl: 3_600, external_id: `n${i}` };
    world.advance(roll(3) === 0 ? 0 : roll(40_000));
    if (roll(5) === 0) await agent.request(fields);
    else {
      const { id } = await usePromised(agent, fields);
      const status = [null, 'succeeded', 'failed', 'unknown'][roll(4)];
      if (status) await report(agent, id, { status });
    }
    if (roll(12) === 0) await world.sweep();
  }
}

/** What a list with the filter must have, by all permissions that the caller can see. */
function expected(all: Json[], outcome: string, filter: Json = {}): string[] {
  return idsOf(
    all.filter(
      (each) =>
        each.outcome?.status === outcome &&
        (filter.action === undefined || each.action === filter.action) &&
        (filter.agent_id === undefined || each.agent_id === filter.agent_id),
    ),
  );
}

describe('a list by outcome', () => {
  it.runIf(depth.isDeep)(
    'has exactly what a naive reading finds, whatever the page size and the filters',
    async () => {
      const { world, account, agent, others } = await makeOutcomeScene();
      const second = await account.agent();
      const stranger = await others[1].agent();
      await fill(world, [agent, second, stranger], 70, 4711);
      for (const minutes of depth.cases([0, 5, 20], 2)) {
        world.advance(minutes * 60_000);
        const all = await list(account, '');
        const approved = await list(account, 'status=approved');
        for (const outcome of ['failed', 'unknown']) {
          expect(expected(all, outcome).length).toBeGreaterThan(3);
          for (const limit of depth.cases([3, 1, 7, 100], 3)) {
            const query = `outcome=${outcome}`;
            expect(idsOf(await list(account, query, limit))).toEqual(expected(all, outcome));
            expect(idsOf(await list(account, `${query}&status=approved`, limit))).toEqual(
              expected(approved, outcome),
            );
            for (const filter of [{ action: 'payment.send' }, { agent_id: second.id }]) {
              const [[name, value]] = Object.entries(filter) as [[string, string]];
              expect(idsOf(await list(account, `${query}&${name}=${value}`, limit))).toEqual(
                expected(all, outcome, filter),
              );
            }
            expect(idsOf(await list(agent, query, limit))).toEqual(
              expected(all, outcome, { agent_id: agent.id }),
            );
          }
          for (const status of ['pending', 'denied', 'expired'])
            expect(await list(account, `outcome=${outcome}&status=${status}`)).toEqual([]);
          const one = all.find((each) => each.outcome?.status === outcome);
          const named = await list(account, `external_id=${one.external_id}&outcome=${outcome}`);
          expect(idsOf(named)).toContain(one.id);
          const other = outcome === 'failed' ? 'unknown' : 'failed';
          expect(
            idsOf(await list(account, `external_id=${one.external_id}&outcome=${other}`)),
          ).not.toContain(one.id);
        }
      }
    },
  );

  it('has what is unknown from the tenth minute on, to the millisecond', async () => {
    const { world, account, agent } = await makeOutcomeScene();
    const { id } = await usePromised(agent);
    world.advance(REPORT_PERIOD - 1);
    expect(await list(account, 'outcome=unknown')).toEqual([]);
    world.advance(1);
    const [found] = await list(account, 'outcome=unknown');
    expect([found.id, found.outcome.status]).toEqual([id, 'unknown']);
    await world.sweep();
    expect(idsOf(await list(account, 'outcome=unknown'))).toEqual([id]);
    await report(agent, id, { status: 'failed' });
    expect(await list(account, 'outcome=unknown')).toEqual([]);
    expect(idsOf(await list(account, 'outcome=failed'))).toEqual([id]);
  });

  it('is in the order of the requests, not of the uses', async () => {
    const { world, account, agent } = await makeOutcomeScene();
    const asked = [];
    for (let i = 0; i < 6; i++) asked.push(await agent.approved({ reports_outcome: true }));
    for (const i of [3, 0, 5, 1, 4, 2]) {
      const { id, token } = asked[i];
      world.advance(1_000);
      await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
      if (i % 2 === 0) await report(agent, id, { status: 'unknown' });
    }
    world.advance(REPORT_PERIOD);
    const ids = asked.map(({ id }) => id).reverse();
    expect(idsOf(await list(account, 'outcome=unknown', 2))).toEqual(ids);
    expect(idsOf(await list(account, 'outcome=unknown&status=approved', 4))).toEqual(ids);
  });

  it('by a member has what that member decided', async () => {
    const { world, account, agent } = await makeOutcomeScene();
    const [ada, bob] = [await makeMember(account, 'admin'), await makeMember(account, 'admin')];
    const ids: string[] = [];
    for (const [i, { token }] of [ada, bob, ada].entries()) {
      const { id } = await agent.request({ reports_outcome: true });
      await world.must(200, 'POST', `/v1/permissions/${id}/approve`, { token, body: {} });
      const { body } = await agent.must(200, 'GET', `/v1/permissions/${id}`);
      await agent.must(200, 'POST', '/v1/tokens/use', { token: body.token.value });
      await report(agent, id, { status: i === 2 ? 'succeeded' : 'failed' });
      ids.push(id);
    }
    expect(idsOf(await list(account, `outcome=failed&decided_by=${ada.id}`))).toEqual([ids[0]]);
    expect(idsOf(await list(account, `outcome=failed&decided_by=${bob.id}`))).toEqual([ids[1]]);
  });

  it('reads no more rows among thousands of outcomes, swept or not', async () => {
    const { world, account, agent, others } = await makeOutcomeScene();
    const loud = await others[1].agent();
    await copyMany((await usePromised(agent)).id, 3_000, 'failed');
    await copyMany((await usePromised(loud)).id, 3_000, 'awaited');
    world.advance(REPORT_PERIOD);
    for (const query of ['outcome=failed', 'outcome=unknown', 'outcome=failed&status=approved']) {
      const { body, cost } = await readPage(account, `limit=50&${query}`);
      expect(cost.read, query).toBeLessThan(MOST_READ);
      if (query === 'outcome=failed') expect(body.data).toHaveLength(50);
    }
    const [page, nobody] = [
      (await readPage(account, 'outcome=failed&action=a.b&limit=50')).body,
      (await readPage(account, 'outcome=failed&agent_id=agent_x&limit=50')).body,
    ];
    expect([page.data, page.has_more]).toEqual([[], true]);
    expect(nobody.data).toEqual([]);
  });

  it('refuses other outcomes, and goes back as far as retention', async () => {
    const { world, account, agent } = await makeOutcomeScene();
    for (const outcome of ['succeeded', 'awaited', 'x', ''])
      expect((await account.call('GET', `/v1/permissions?outcome=${outcome}`)).status).toBe(400);
    await report(agent, (await usePromised(agent)).id, { status: 'failed' });
    world.advance(7 * 86_400_000 + 1);
    await usePromised(agent);
    expect(await list(account, 'outcome=failed')).toEqual([]);
    expect(await list(account, 'outcome=failed&status=approved')).toEqual([]);
  });
});
