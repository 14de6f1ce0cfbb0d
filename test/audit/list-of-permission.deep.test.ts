import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, type Json, type TestAccount, World } from '../support/world';

const USES = 1_000;
const DAY = 86_400_000;

/** The most rows that a page of 50 reads. */
const MOST_READ = 2_100;

/** The account under test has two agents with permissions whose entries alternate. */
let account: TestAccount;
let log: Json[];
let used: Json;
let other: Json;

async function useOften(by: TestAccount, { token }: Json, times: number): Promise<void> {
  const calls = Array.from({ length: times }, () =>
    by.must(200, 'POST', '/v1/tokens/use', { token: token.value }),
  );
  await Promise.all(calls);
}

beforeAll(async () => {
  const world = new World();
  const older = await world.account({ plan: 'enterprise' });
  const stranger = await older.agent();
  await useOften(older, await stranger.approved({ max_uses: 9 }), 5);
  account = await world.account({ plan: 'enterprise' });
  const first = await account.agent();
  const second = await account.agent();
  await first.request();
  used = await first.approved({ max_uses: USES, token_ttl: 86_400, scope: { amount: 5 } });
  other = await second.approved({ max_uses: USES, token_ttl: 86_400, scope: { amount: 6 } });
  for (let uses = 0; uses < USES; uses += 20) {
    await useOften(account, used, 20);
    await useOften(account, other, (uses / 20) % 3);
    world.advance(1_000);
  }
  await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: other.token.id });
  log = await account.log();
}, 120_000);

const eventsOf = (permission: Json) =>
  log.filter((entry) => entry.permission_request_id === permission.id);

/** The sequences on all pages. No page may read more rows than {@link MOST_READ}. */
async function follow(query: Record<string, string>, order: 'asc' | 'desc'): Promise<number[]> {
  const sequences: number[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const parameters = new URLSearchParams({ ...query, order, ...(cursor && { cursor }) });
    const { body, cost }: Answer = await account.must(200, 'GET', `/v1/audit?${parameters}`);
    expect(cost.read, String(parameters)).toBeLessThanOrEqual(MOST_READ);
    expect(cost.trips).toBe(1);
    sequences.push(...body.data.map(({ sequence }: Json) => sequence));
    cursor = body.next_cursor;
  }
  return sequences;
}

const time = (entry: Json | undefined): string => entry?.created_at;

describe('the entries of a permission', () => {
  const FILTERS: [string, () => Record<string, string>, (entry: Json) => boolean][] = [
    ['all', () => ({}), () => true],
    ['uses', () => ({ event_type: 'use' }), ({ event_type }) => event_type === 'use'],
    [
      'the approval',
      () => ({ event_type: 'approve' }),
      ({ event_type }) => event_type === 'approve',
    ],
    ['none', () => ({ event_type: 'deny' }), () => false],
    ['its agent and action', () => ({ agent_id: used.agent_id, action: used.action }), () => true],
    ['another agent', () => ({ agent_id: other.agent_id }), () => false],
    ['another action', () => ({ action: 'x.y' }), () => false],
    ['a matching scope', () => ({ scope_key: 'amount', scope_max: '5' }), () => true],
    ['another scope', () => ({ scope_key: 'amount', scope_min: '6' }), () => false],
    [
      'who decided',
      () => ({ decided_by: used.decided_by }),
      ({ details }) => details.decided_by !== null,
    ],
    [
      'a time',
      () => ({ start_date: time(eventsOf(used)[41]), end_date: time(eventsOf(used)[900]) }),
      ({ created_at }) =>
        created_at >= time(eventsOf(used)[41]) && created_at < time(eventsOf(used)[900]),
    ],
    ['a later time', () => ({ start_date: '2099-01-01' }), () => false],
    ['an earlier time', () => ({ end_date: '2001-01-01' }), () => false],
  ];

  it('has a permission with 1,000 uses, between entries of others', () => {
    expect(eventsOf(used)).toHaveLength(USES + 2);
    expect(eventsOf(other).length).toBeGreaterThan(40);
  });

  it.each(FILTERS)('are found in both orders, page by page: %s', async (_, filters, isMatch) => {
    const expected = eventsOf(used)
      .filter(isMatch)
      .map(({ sequence }) => sequence);
    for (const limit of ['49', '50']) {
      const query = { permission_id: used.id, limit, ...filters() };
      expect(await follow(query, 'asc')).toEqual(expected);
      expect(await follow(query, 'desc')).toEqual(expected.toReversed());
    }
  });

  it('are found after a sequence of any permission', async () => {
    for (const permission of [used, other]) {
      const all = eventsOf(permission).map(({ sequence }) => sequence);
      for (const after of [0, 1, all[1], all[2] + 1, all.at(-2), all.at(-1), 4_294_967_295]) {
        const query = { permission_id: permission.id, after_sequence: String(after) };
        const expected = all.filter((sequence) => sequence > after);
        expect(await follow(query, 'asc')).toEqual(expected);
      }
    }
  });

  it('of another account are not found', async () => {
    const { body } = await account.world
      .account()
      .then((foreign) => foreign.must(200, 'GET', `/v1/audit?permission_id=${used.id}`));
    expect(body).toMatchObject({ data: [], has_more: false });
  });

  it('are read in descending order no further than the page needs', async () => {
    const query = { permission_id: used.id, limit: '50' };
    const cursors: string[] = [];
    for (const cursor of ['', 'next', 'after that']) {
      const page = { ...query, ...(cursor && { cursor: cursors.at(-1) ?? '' }) };
      const path = `/v1/audit?${new URLSearchParams(page)}`;
      const { body, cost } = await account.must(200, 'GET', path);
      expect(cost.read).toBeLessThan(300);
      cursors.push(body.next_cursor);
    }
  });

  it('end where retention does', async () => {
    const { world, id } = account;
    const admin = { token: world.env.ADMIN_TOKEN ?? '', body: { audit_retention_days: 1 } };
    await world.must(200, 'PATCH', `/v1/admin/users/${id}`, admin);
    const kept = eventsOf(used)[500];
    world.now = Date.parse(time(kept)) + DAY;
    const expected = eventsOf(used).filter((entry) => time(entry) >= time(kept));
    const sequences = expected.map(({ sequence }) => sequence);
    const query = { permission_id: used.id, limit: '50' };
    expect(await follow(query, 'asc')).toEqual(sequences);
    expect(await follow(query, 'desc')).toEqual(sequences.toReversed());
  });
});
