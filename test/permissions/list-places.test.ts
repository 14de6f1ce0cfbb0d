import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Id, idBytes } from '../../src/lib/typeid';
import { agentNumbers, fillWithDenials } from '../support/bulk-log';
import { depth } from '../support/depth';
import { makeMember, type TestMember } from '../support/members';
import { approve, deny, makeReview } from '../support/reviews';
import { type Answer, type Json, type TestAccount, type TestAgent, World } from '../support/world';

/** The most rows that a page of 50 reads. */
const MOST_READ = 350;

let world: World;
let account: TestAccount;
let agent: TestAgent;

// Each scene has an older account with another history, so that no number of a row, place in the
// log or sequence is that of the account under test.
beforeEach(async () => {
  world = new World();
  await addHistory(await world.account());
  account = await world.account({ plan: 'enterprise' });
  agent = await account.agent();
});

async function addHistory(other: TestAccount): Promise<void> {
  const neighbour = await other.agent();
  await neighbour.request();
  const { id } = await neighbour.request();
  await other.must(200, 'POST', `/v1/permissions/${id}/deny`);
  await neighbour.approved();
}

async function ask(fields: Json = {}, asking = agent): Promise<string> {
  world.advance(1);
  return (await asking.request(fields)).id;
}

function decide(id: string, decision: 'approve' | 'deny'): Promise<Answer> {
  world.advance(1);
  return account.must(200, 'POST', `/v1/permissions/${id}/${decision}`);
}

type Caller = Pick<TestAccount, 'call'>;

async function readPage(query: string, caller: Caller = account): Promise<Json> {
  const { status, body } = await caller.call('GET', `/v1/permissions?${query}`);
  expect(status).toBe(200);
  return body;
}

const idsOf = ({ data }: Json): string[] => data.map(({ id }: Json) => id);

/** The ids on every page. */
async function list(query: string, limit = 100, caller: Caller = account): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Json = await readPage(
      `limit=${limit}&${query}${cursor && `&cursor=${cursor}`}`,
      caller,
    );
    ids.push(...idsOf(page));
    cursor = page.next_cursor;
  }
  return ids;
}

/** Adds entries of expired tokens to the log of the account, whose newest entry they copy. */
async function addTokenExpiries(count: number): Promise<void> {
  await env.DB.prepare(
    `insert into audit_entries
     select newest.pos + n.value, newest.agent, newest.permission, null, 6, newest.action, newest.created_at,
       newest.ip_address, newest.user_agent, substr(newest.details, 1, length(newest.details) - 1) || ',"expired":"token"}', randomblob(22)
     from (select * from audit_entries order by pos desc limit 1) as newest,
       (with recursive n(value) as (select 1 union all select value + 1 from n where value < ?) select value from n) as n`,
  )
    .bind(count)
    .run();
}

describe('the order of a list', () => {
  it('is that of the decisions with a status, and of the requests without one', async () => {
    const [a, b, c, d] = [await ask(), await ask(), await ask(), await ask()];
    await decide(c, 'approve');
    await decide(d, 'deny');
    await decide(a, 'approve');
    await decide(b, 'deny');
    for (const limit of [1, 3]) {
      for (const caller of [account, agent]) {
        expect(await list('', limit, caller)).toEqual([d, c, b, a]);
        expect(await list('status=approved', limit, caller)).toEqual([a, c]);
        expect(await list('status=denied', limit, caller)).toEqual([b, d]);
      }
    }
  });

  it('is that of the log for requests of the same millisecond', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 12; i++) ids.unshift((await agent.request()).id);
    expect(ids).not.toEqual(ids.toSorted().reverse());
    expect(await list('', 5)).toEqual(ids);
    expect(await list('status=pending', 5)).toEqual(ids);
    expect(await list(`status=pending&agent_id=${agent.id}`, 5)).toEqual(ids);
  });

  it('has no gap and no duplicate on the next page when decisions come meanwhile', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) ids.push(await ask());
    const [a, b, c, d, late, waiting] = ids as [string, string, string, string, string, string];
    for (const id of [d, b, a, c]) await decide(id, 'approve');
    const first = await readPage('status=approved&limit=2');
    await decide(late, 'approve');
    const next = await readPage(`status=approved&limit=2&cursor=${first.next_cursor}`);
    expect([idsOf(first), idsOf(next)]).toEqual([
      [c, a],
      [b, d],
    ]);
    expect(next.has_more).toBe(false);
    const newer = await ask();
    const pending = await readPage('status=pending&limit=1');
    expect(idsOf(pending)).toEqual([newer]);
    await ask();
    const rest = await readPage(`status=pending&limit=1&cursor=${pending.next_cursor}`);
    expect([idsOf(rest), rest.has_more]).toEqual([[waiting], false]);
  });
});

describe('the list of what has expired', () => {
  it('has the requests in the order of their entries, withdrawn ones too, and no token', async () => {
    const [slow, fast] = [await ask({ expires_in: 120 }), await ask({ expires_in: 60 })];
    const withdrawn = await ask();
    const token = await ask({ token_ttl: 30 });
    await decide(token, 'approve');
    await agent.must(200, 'POST', `/v1/permissions/${withdrawn}/withdraw`);
    world.advance(61_000);
    expect(await list('status=expired')).toEqual([withdrawn]);
    expect(await list('status=pending')).toEqual([slow]);
    await world.sweep();
    expect(await list('status=expired')).toEqual([fast, withdrawn]);
    world.advance(60_000);
    await world.sweep();
    expect(await list('status=expired', 1)).toEqual([slow, fast, withdrawn]);
    expect(await list('status=pending')).toEqual([]);
  });

  it('is found behind many tokens that expired, which the log has under the same type', async () => {
    const expired = await ask({ expires_in: 60 });
    world.advance(60_000);
    await world.sweep();
    await addTokenExpiries(3_000);
    const { body, cost } = await account.must(200, 'GET', '/v1/permissions?status=expired');
    expect(idsOf(body)).toEqual([expired]);
    expect(cost.read).toBeLessThan(60);
    const { data, has_more } = (
      await account.must(200, 'GET', '/v1/audit?event_type=expire&limit=1000&order=asc')
    ).body;
    expect(data.map(({ event_type }: Json) => event_type)).toEqual(Array(1_000).fill('expire'));
    expect(data.slice(0, 2).map(({ details }: Json) => details.expired)).toEqual([
      'request',
      'token',
    ]);
    expect(has_more).toBe(true);
  });
});

describe('the list of what a member decided', () => {
  let people: TestMember[];
  const listBy = (member: Pick<TestMember, 'id'>, query = '', limit = 100) =>
    list(`decided_by=${member.id}${query}`, limit);

  beforeEach(async () => {
    ({ world, account, agent, people } = await makeReview({ approvals: 2 }, undefined, {
      world,
      actions: ['review.*'],
    }));
  });

  it('has each permission once, in the order of the last vote or decision', async () => {
    const [one, two, three] = people as [TestMember, TestMember, TestMember];
    const asked: string[] = [];
    for (const action of ['review.a', 'review.a', 'review.b', 'file.read', 'file.read'])
      asked.push(await ask({ action }));
    const [a, b, c, plain, other] = asked as [string, string, string, string, string];
    const act = async (by: typeof approve, member: TestMember, id: string) => {
      world.advance(1);
      expect((await by({ world }, member, id)).status).toBe(200);
    };
    await act(approve, one, a);
    await act(approve, one, b);
    await act(approve, one, c);
    await act(approve, one, plain);
    await act(approve, two, b);
    await act(deny, three, other);
    // The member's own later denial replaces the vote.
    await act(deny, one, a);
    for (const limit of [1, 2, 100]) {
      expect(await listBy(one, '', limit)).toEqual([a, plain, c, b]);
      expect(await listBy(two, '', limit)).toEqual([b]);
      expect(await listBy(three, '', limit)).toEqual([other]);
    }
    expect(await listBy(one, '&status=denied')).toEqual([a]);
    expect(await listBy(one, '&status=pending')).toEqual([c]);
    expect(await listBy(one, '&status=approved', 1)).toEqual([plain, b]);
    expect(await listBy(one, '&status=expired')).toEqual([]);
    expect(await listBy(one, '&action=review.a', 1)).toEqual([a, b]);
    expect(await listBy(one, `&action=file.read&agent_id=${agent.id}`)).toEqual([plain]);
    expect(await listBy(one, `&agent_id=${(await account.agent()).id}`)).toEqual([]);
  });

  it('has what was requested under an external id, too', async () => {
    const [one, two] = people as [TestMember, TestMember];
    const [a, b] = [await ask({ external_id: 'x' }), await ask({ external_id: 'y' })];
    const voted = await ask({ external_id: 'z', action: 'review.a' });
    for (const id of [a, b, voted]) await approve({ world }, one, id);
    expect(await listBy(one, '&external_id=x')).toEqual([a]);
    expect(await listBy(one, '&external_id=z')).toEqual([voted]);
    expect(await listBy(two, '&external_id=x')).toEqual([]);
    expect(await list('external_id=y')).toEqual([b]);
  });

  it('is empty for anything but a member of the account who decided', async () => {
    const decided = await ask();
    await decide(decided, 'approve');
    const stranger = await makeMember(await world.account(), 'approver');
    const policy = (await account.must(200, 'GET', '/v1/policies')).body.data[0].id;
    for (const id of [account.id, policy, agent.id, stranger.id, people[0]?.id, 'x', '']) {
      expect(await list(`decided_by=${id}`)).toEqual([]);
      expect(await list(`decided_by=${id}&external_id=x`)).toEqual([]);
    }
  });

  it('is refused to an agent', async () => {
    const { body } = await agent.must(400, 'GET', `/v1/permissions?decided_by=${people[0]?.id}`);
    expect(body).toMatchObject({
      code: 'invalid_request',
      errors: [{ path: 'query.decided_by' }],
    });
  });

  it('is examined page by page where most do not match', async () => {
    const [one] = people as [TestMember];
    const first = await ask({ action: 'file.write' });
    await approve({ world }, one, first);
    const { id } = await agent.request();
    await approve({ world }, one, id);
    await fillWithDenials(env.DB, 1_200, await agentNumbers(env.DB));
    await env.DB.prepare(
      'update permissions set decided_by = ?, decided_at = created_at + last_entry, agent = (select max(number) from agents) where decided_by is null and status = 2 and account = (select max(account) from permissions)',
    )
      .bind(one.id)
      .run();
    const path = `/v1/permissions?decided_by=${one.id}&limit=50`;
    expect((await account.must(200, 'GET', path)).cost.read).toBeLessThan(MOST_READ);
    const found: string[] = [];
    let pages = 0;
    for (let cursor: string | null = ''; cursor !== null; pages++) {
      const query = `decided_by=${one.id}&action=file.write&limit=50${cursor && `&cursor=${cursor}`}`;
      const { body, cost } = await account.must(200, 'GET', `/v1/permissions?${query}`);
      expect(cost.read).toBeLessThan(1_600);
      found.push(...idsOf(body));
      cursor = body.next_cursor;
    }
    expect(found).toEqual([first]);
    expect(pages).toBe(3);
  });
});

it('keeps the places of what has expired under an external id when the sweep writes its entries', async () => {
  const ids: string[] = [];
  for (const expires_in of [60, 120, 180])
    ids.unshift(await ask({ external_id: 'x', expires_in }, await account.agent()));
  world.advance(180_000);
  const query = 'external_id=x&status=expired&limit=1';
  const first = await readPage(query);
  await world.sweep();
  const second = await readPage(`${query}&cursor=${first.next_cursor}`);
  const third = await readPage(`${query}&cursor=${second.next_cursor}`);
  expect([first, second, third].flatMap(idsOf)).toEqual(ids);
});

it('lists reach back as far as retention, but for what is pending or has an external id', async () => {
  const update = { plan: 'enterprise', audit_retention_days: 1 };
  await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
    token: env.ADMIN_TOKEN,
    body: update,
  });
  const member = await makeMember(account, 'approver');
  const old = { expires_in: 604_800, token_ttl: 604_800 };
  const waiting = await ask(old);
  const denied = await ask({ ...old, external_id: 'x' });
  const approved = await ask(old);
  await deny({ world }, member, denied);
  await approve({ world }, member, approved);
  world.advance(2 * 86_400_000);
  const recent = await ask();
  expect(await list('')).toEqual([recent]);
  expect(await list('status=approved')).toEqual([]);
  expect(await list('status=denied')).toEqual([]);
  expect(await list(`decided_by=${member.id}`)).toEqual([]);
  expect(await list('status=pending')).toEqual([recent, waiting]);
  expect(await list(`status=pending&agent_id=${agent.id}`)).toEqual([recent, waiting]);
  expect(await list('external_id=x')).toEqual([denied]);
  await decide(waiting, 'approve');
  expect(await list('status=approved')).toEqual([waiting]);
});

it('hides permissions of deleted agents, with a next page behind them', async () => {
  const [first, other] = [await ask(), await account.agent()];
  for (let i = 0; i < 5; i++) await ask({}, other);
  await account.must(204, 'DELETE', `/v1/agents/${other.id}`);
  const page = await readPage('limit=3');
  expect([page.data, page.has_more]).toEqual([[], true]);
  expect(await list('', 3)).toEqual([first]);
  expect(await list('status=pending', 3)).toEqual([first]);
});

describe.runIf(depth.isDeep)('a page of 50', () => {
  const QUERIES = [
    '',
    'status=approved',
    'status=denied',
    'status=expired',
    'status=pending',
    'action=email.send',
    'action=file.read',
    'action=file.read&status=denied',
    'action=file.read&status=pending',
    'action=email.send&status=pending',
  ];

  async function expectCheapPages(queries: string[]): Promise<void> {
    for (const query of queries) {
      const first = await account.must(200, 'GET', `/v1/permissions?limit=50&${query}`);
      expect([query, first.cost.read <= MOST_READ]).toEqual([query, true]);
      const { next_cursor: cursor } = first.body;
      if (cursor === null) continue;
      const path = `/v1/permissions?limit=50&${query}&cursor=${cursor}`;
      expect([query, (await account.must(200, 'GET', path)).cost.read <= MOST_READ]).toEqual([
        query,
        true,
      ]);
    }
  }

  it('reads few rows where everything is denied but one', async () => {
    const approved = await ask({ action: 'file.read' });
    await decide(approved, 'approve');
    const { id } = await agent.request();
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    await fillWithDenials(env.DB, 5_000, (await agentNumbers(env.DB)).slice(-1));
    await expectCheapPages([
      ...QUERIES,
      `agent_id=${agent.id}`,
      `agent_id=${agent.id}&status=denied`,
    ]);
    expect(await list('action=file.read')).toEqual([approved]);
    expect(await list('status=approved')).toEqual([approved]);
  });

  it('reads few rows where thousands wait, of which one has another action', async () => {
    const rare = await ask({ action: 'file.read' });
    await agent.request();
    await env.DB.prepare(
      `with recursive n (i) as (values (1) union all select i + 1 from n where i < 5000)
       insert into permissions (account, id, agent, action, resource, scope, token_ttl, max_uses, status, last_entry,
         expires_at, created_at, updated_at)
       select account, randomblob(16), agent, 'email.send', resource, scope, token_ttl, max_uses, status,
         last_entry + 1 + i, expires_at, created_at, updated_at
       from permissions, n where id = ?`,
    )
      .bind(idBytes(rare as Id<'perm'>))
      .run();
    await expectCheapPages(QUERIES.filter((query) => !query.includes('file.read&status=pending')));
    const path = '/v1/permissions?limit=50&action=file.read&status=pending';
    const { body, cost } = await account.must(200, 'GET', path);
    expect([body.data, body.has_more]).toEqual([[], true]);
    expect(cost.read).toBeLessThan(1_100);
    expect(await list('action=file.read&status=pending')).toEqual([rare]);
  });
});
