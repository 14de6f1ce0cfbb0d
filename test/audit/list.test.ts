import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Json, makeAgent, type TestAccount, type TestAgent, World } from '../support/world';

const HOUR = 3_600_000;

const world = new World();
let account: TestAccount;
let first: TestAgent;
let second: TestAgent;
let permissions: string[];
/** The whole log, oldest first. */
let log: Json[];

/**
 * Writes fourteen entries of all types for two agents, half an hour apart, from 2026-01-30T22:00.
 */
beforeAll(async () => {
  account = await world.account({ plan: 'pro' });
  world.now = Date.UTC(2026, 0, 30, 21, 30);
  [first, second] = [await account.agent(), await account.agent()];
  const step = () => world.advance(HOUR / 2);
  permissions = [];
  for (const agent of [first, second]) {
    for (const action of ['mail.send', 'mail.read']) {
      step();
      const { id } = await agent.request({ action, max_uses: 2, token_ttl: 86_400 });
      permissions.push(id);
      step();
      const decision = action === 'mail.send' ? 'approve' : 'deny';
      await account.must(200, 'POST', `/v1/permissions/${id}/${decision}`);
    }
    step();
    const { token } = (await agent.must(200, 'GET', `/v1/permissions/${permissions.at(-2)}`)).body;
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    step();
    await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: token.id });
  }
  step();
  permissions.push((await first.request({ action: 'mail.send', expires_in: 60 })).id);
  step();
  await world.sweep();
  log = await account.log();
});

async function sequences(query: string): Promise<number[]> {
  const { body } = await account.must(200, 'GET', `/v1/audit?${query}`);
  return body.data.map(({ sequence }: Json) => sequence);
}

it('the log has an entry for every step, numbered from 1', () => {
  const kinds = ['request', 'approve', 'request', 'deny', 'use', 'revoke'];
  expect(log.map(({ event_type }) => event_type)).toEqual([
    ...kinds,
    ...kinds,
    'request',
    'expire',
  ]);
  expect(log.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 14 }, (_, i) => i + 1));
  expect(log[0].created_at).toBe('2026-01-30T22:00:00.000Z');
});

describe('a search', () => {
  const FILTERS: [string, () => string, number[]][] = [
    ['every entry', () => '', [14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]],
    ['an agent', () => `agent_id=${second.id}`, [12, 11, 10, 9, 8, 7]],
    ['a permission', () => `permission_id=${permissions[0]}`, [6, 5, 2, 1]],
    ['the type request', () => 'event_type=request', [13, 9, 7, 3, 1]],
    ['the type approve', () => 'event_type=approve', [8, 2]],
    ['the type deny', () => 'event_type=deny', [10, 4]],
    ['the type use', () => 'event_type=use', [11, 5]],
    ['the type expire', () => 'event_type=expire', [14]],
    ['the type revoke', () => 'event_type=revoke', [12, 6]],
    ['an action', () => 'action=mail.read', [10, 9, 4, 3]],
    ['the prefix of an action', () => 'action=mail', []],
    ['an action in capitals', () => 'action=Mail.read', []],
    ['an action with a wildcard', () => 'action=mail.%25', []],
    ['an agent and a type', () => `agent_id=${first.id}&event_type=request`, [13, 3, 1]],
    ['an agent and an action', () => `agent_id=${first.id}&action=mail.send`, [14, 13, 6, 5, 2, 1]],
    ['an action and a type', () => 'action=mail.send&event_type=approve', [8, 2]],
    [
      'an agent, an action and a type',
      () => `agent_id=${second.id}&action=mail.read&event_type=deny`,
      [10],
    ],
    [
      'a permission and its agent',
      () => `permission_id=${permissions[2]}&agent_id=${second.id}`,
      [12, 11, 8, 7],
    ],
    [
      'a permission and another agent',
      () => `permission_id=${permissions[2]}&agent_id=${first.id}`,
      [],
    ],
    [
      'a permission and its action',
      () => `permission_id=${permissions[1]}&action=mail.read`,
      [4, 3],
    ],
    [
      'a permission and another action',
      () => `permission_id=${permissions[1]}&action=mail.send`,
      [],
    ],
    ['a permission and a type', () => `permission_id=${permissions[0]}&event_type=use`, [5]],
    ['an agent and a time', () => `agent_id=${first.id}&start_date=2026-01-31`, [14, 13, 6, 5]],
    ['a type and a time', () => 'event_type=request&end_date=2026-01-30', [3, 1]],
    ['an unknown agent', () => 'agent_id=agent_01h455vb4pex5vsknk084sn02q', []],
    ['an unknown permission', () => 'permission_id=perm_01h455vb4pex5vsknk084sn02q', []],
    ['a malformed agent', () => 'agent_id=x', []],
    ['an id of another kind', () => `agent_id=${second.id.replace('agent', 'user')}`, []],
    ['a malformed permission', () => 'permission_id=x', []],
    ['an empty action', () => 'action=', []],
  ];

  it.each(FILTERS)(
    'for %s finds exactly the matching entries, newest first and oldest first',
    async (_, query, found) => {
      expect(await sequences(query())).toEqual(found);
      expect(await sequences(`order=desc&${query()}`)).toEqual(found);
      expect(await sequences(`order=asc&${query()}`)).toEqual(found.toReversed());
    },
  );

  it.each(FILTERS)('for %s finds the same entries page by page', async (_, query, found) => {
    for (const order of ['asc', 'desc']) {
      const pages: number[] = [];
      for (let cursor = ''; ; ) {
        const { body } = await account.must(
          200,
          'GET',
          `/v1/audit?limit=3&order=${order}&${query()}${cursor}`,
        );
        pages.push(...body.data.map(({ sequence }: Json) => sequence));
        expect(body.next_cursor === null).toBe(!body.has_more);
        if (!body.has_more) break;
        expect(body.data).toHaveLength(3);
        cursor = `&cursor=${body.next_cursor}`;
      }
      expect(pages).toEqual(order === 'asc' ? found.toReversed() : found);
    }
  });
});

describe('a time range', () => {
  // Entry 1 is at 22:00 on January 30th and each next entry is half an hour later, so entry 5 is at
  // midnight.
  it.each<[string, number, number]>([
    ['start_date=2026-01-31', 5, 14],
    ['start_date=2026-01-31T00:00:00Z', 5, 14],
    ['start_date=2026-01-31T00:00:00.001Z', 6, 14],
    ['start_date=2026-01-30T23:59:59.999Z', 5, 14],
    ['start_date=2026-01-31T01:00:00%2B01:00', 5, 14],
    ['start_date=2026-01-30T19:00:00-05:00', 5, 14],
    ['start_date=2026-01-30', 1, 14],
    ['start_date=2020-02-29', 1, 14],
    ['end_date=2026-01-30', 1, 4],
    ['end_date=2026-01-31', 1, 14],
    ['end_date=2026-01-31T00:00:00Z', 1, 4],
    ['end_date=2026-01-31T00:00:00.001Z', 1, 5],
    ['end_date=2026-01-31T05:30:00%2B05:30', 1, 4],
    ['end_date=2030-01-01', 1, 14],
    ['start_date=2026-01-31&end_date=2026-01-31', 5, 14],
    ['start_date=2026-01-30&end_date=2026-01-30', 1, 4],
    ['start_date=2026-01-30T23:00:00Z&end_date=2026-01-31T01:00:00Z', 3, 6],
    ['start_date=2026-01-31&end_date=2026-01-31T01:00:00Z', 5, 6],
    ['start_date=2026-01-30T23:30:00Z&end_date=2026-01-30T23:30:00.001Z', 4, 4],
    ['start_date=2026-01-30T23:30:00Z&end_date=2026-01-31', 4, 14],
    ['start_date=2026-01-31T01:00:00Z&end_date=2026-01-31', 7, 14],
    ['start_date=2026-01-30T23:30:00Z&end_date=2026-01-30', 4, 4],
  ])('%s includes the entries from %d to %d', async (query, from, to) => {
    const wanted = Array.from({ length: to - from + 1 }, (_, i) => from + i);
    expect(await sequences(`order=asc&${query}`)).toEqual(wanted);
    expect(await sequences(query)).toEqual(wanted.toReversed());
  });

  it.each([
    'start_date=2026-02-01',
    'end_date=2026-01-29',
    'start_date=2026-01-31T00:00:00Z&end_date=2026-01-31T00:00:00Z',
    'start_date=2026-01-31T00:00:00.001Z&end_date=2026-01-31T00:30:00Z',
    'start_date=2026-01-31T23:59:59.999Z&end_date=2026-01-31',
  ])('%s includes nothing', async (query) => {
    expect(await sequences(query)).toEqual([]);
  });

  it.each([
    'start_date=2026-02-01&end_date=2026-01-31',
    'start_date=2026-01-31T00:00:00.001Z&end_date=2026-01-31T00:00:00Z',
    'start_date=2026-01-31T00:00:00Z&end_date=2026-01-31T00:30:00%2B01:00',
    // The midnight that ends the day of the bare date belongs to the next day.
    'start_date=2026-02-01T00:00:00Z&end_date=2026-01-31',
    'start_date=2026-01-31T23:00:00-01:00&end_date=2026-01-31',
    'start_date=2026-02-01&end_date=2026-01-31T23:59:59.999Z',
  ])('%s is rejected because it ends before it starts', async (query) => {
    const { status, body } = await account.call('GET', `/v1/audit?${query}`);
    expect([status, body.code, body.errors[0].path]).toEqual([
      400,
      'invalid_request',
      'query.start_date',
    ]);
  });
});

it('ends a page early when its entries reach 8 MiB, and leaves none out', async () => {
  const { account, agent } = await makeAgent();
  for (let i = 0; i < 7; i++) await agent.request();
  await env.DB.prepare(
    `update audit_entries
     set details = replace(details, char(10, 10, 10, 9), char(10, 10) || ',"decision_reason":"' || hex(zeroblob(750000)) || '"')`,
  ).run();
  const path = '/v1/audit?limit=7&order=asc';
  const first = await account.must(200, 'GET', path);
  const second = await account.must(200, 'GET', `${path}&cursor=${first.body.next_cursor}`);
  expect(
    [first, second].map(({ body, cost }) => [body.data.length, body.has_more, cost.trips]),
  ).toEqual([
    [5, true, 2],
    [2, false, 2],
  ]);
  const entries = [...first.body.data, ...second.body.data];
  expect(entries.map(({ sequence }: Json) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  for (const { details } of entries) expect(details.decision_reason.length).toBe(1_500_000);
});
