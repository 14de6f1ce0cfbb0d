import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { parquetMetadata } from 'hyparquet';
import { beforeAll, describe, expect, it } from 'vitest';
import { agentNumbers, fillWithDenials } from '../support/bulk-log';
import { makeExport, parseFile } from '../support/exports';
import { makeMember, type TestMember } from '../support/members';
import { approve, deny } from '../support/reviews';
import { type Answer, type Json, type TestAccount, type TestAgent, World } from '../support/world';

const RESOURCES = [
  'mailbox:a',
  'mailbox:A',
  'mailbox:ab',
  'mailbox:a*',
  'mailbox:a*b',
  'mailbox:a%b',
  'mailbox:a_b',
  'mailbox:axb',
  'mailbox:ä👍',
  'mailbox:"\\\'',
  'file:a',
];

/** Text, so that every name and number is exactly the one that an agent sends. */
const SCOPES = [
  '{}',
  '{"amount":5}',
  '{"amount":5.5}',
  '{"amount":"5"}',
  '{"amount":true}',
  '{"amount":null}',
  '{"amount":[5]}',
  '{"amount":{"amount":5}}',
  '{"deep":{"amount":5,"by":"member_x"}}',
  '{"amount":-0}',
  '{"amount":1e308}',
  '{"amount":-1e308}',
  '{"amount":5e-324}',
  '{"amount":0.1}',
  '{"amount":0.30000000000000004}',
  '{"amount":9007199254740991}',
  '{"amount":123456789012345680000}',
  '{"Amount":5,"a.b":5,"a":{"b":6}}',
  '{"$":5,"$.a":6,"a\\"b":5,"\\\\":5}',
  '{"":5,"[0]":5,"0":5,"#-1":5,"*":5}',
  '{"é":5,"👍":5,"__proto__":5,"constructor":5}',
  '{"%":5,"_":5,"a b":5,"\\\\\\"":5,"scope":5}',
];

const KEYS = [
  ...new Set(SCOPES.flatMap((scope) => Object.keys(JSON.parse(scope)))),
  'b',
  'a.b.c',
  'AMOUNT',
  'deep.amount',
  '"',
  '$.scope',
];
const BOUNDS = [
  '5',
  '5.0',
  '50e-1',
  '-0',
  '0',
  '0.1',
  '0.30000000000000004',
  '1e308',
  '-1e308',
  '5e-324',
  '9007199254740991',
  '123456789012345680000',
  '5.5',
  '-1',
  '6',
];

interface Scene {
  world: World;
  account: TestAccount;
  agents: [TestAgent, TestAgent];
  members: [TestMember, TestMember];
  /** All entries that the account sees, oldest first. */
  log: Json[];
}

/** Writes a history with every event, all resources and scopes, and several who decide. */
async function makeHistory(world: World, seed: number): Promise<Scene> {
  const account = await world.account({ plan: 'enterprise' });
  const members = [await makeMember(account, 'approver'), await makeMember(account, 'approver')];
  const [anna, ben] = members as [TestMember, TestMember];
  for (const policy of [
    { effect: 'review', actions: ['x.pay'], review: { approvals: 2 } },
    { effect: 'approve', actions: ['x.read'] },
    { effect: 'deny', actions: ['x.drop'] },
  ]) {
    const named = { name: policy.effect, resources: ['*'], ...policy };
    await account.must(201, 'POST', '/v1/policies', named);
  }
  world.advance(1_000);
  const agents = [await account.agent(), await account.agent()] as [TestAgent, TestAgent];
  const leaving = await account.agent();
  const scene = { world, account };
  const actions = ['x.pay', 'x.read', 'x.drop', 'x.send'];
  for (let i = 0; i < 66; i++) {
    const n = i * 7 + seed;
    const agent = i % 9 === 4 ? leaving : (agents[n % 2] as TestAgent);
    const action = actions[(n + (n >> 3)) % 4] as string;
    const scope = SCOPES[(i + seed) % SCOPES.length] as string;
    const resource = RESOURCES[n % RESOURCES.length];
    world.advance(60_000);
    const raw = `{"action":"${action}","resource":${JSON.stringify(resource)},"scope":${scope}}`;
    const headers = { 'Content-Type': 'application/json' };
    const { status, body } = await world.call('POST', '/v1/permissions', {
      token: agent.key,
      raw,
      headers,
    });
    expect([status, scope]).toEqual([201, scope]);
    if (body.status === 'approved' && i % 2) {
      await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: body.token.id });
    }
    if (body.status !== 'pending') continue;
    if (i % 3 < 2) await approve(scene, anna, body.id);
    if (i % 3 === 0) await deny(scene, ben, body.id, { reason: '"by":"member_x"' });
    if (i % 3 === 1) await approve(scene, ben, body.id);
    if (i % 5 === 0) await account.call('POST', `/v1/permissions/${body.id}/deny`);
  }
  world.advance(7_200_000);
  await world.sweep();
  await account.must(204, 'DELETE', `/v1/agents/${leaving.id}`);
  return { world, account, agents, members: [anna, ben], log: await account.log() };
}

let scene: Scene;
let older: Scene;

// The account under test is not the first, and the histories differ.
beforeAll(async () => {
  const world = new World();
  older = await makeHistory(world, 0);
  scene = await makeHistory(world, 5);
}, 120_000);

type Filters = { [name: string]: string };

/** Whether an entry matches filters, by the words of the contract. */
function isMatch({ sequence, ...entry }: Json, filters: Json): boolean {
  const { details } = entry;
  const { resource, decided_by: by, scope_key: key, scope_min: min, scope_max: max } = filters;
  if (filters.agent_id !== undefined && entry.agent_id !== filters.agent_id) return false;
  if (filters.permission_id !== undefined && entry.permission_request_id !== filters.permission_id)
    return false;
  if (filters.event_type !== undefined && entry.event_type !== filters.event_type) return false;
  if (filters.action !== undefined && details.action !== filters.action) return false;
  if (filters.start_date !== undefined && entry.created_at < filters.start_date) return false;
  if (filters.end_date !== undefined && entry.created_at >= filters.end_date) return false;
  if (filters.after_sequence !== undefined && sequence <= Number(filters.after_sequence))
    return false;
  if (resource?.endsWith('*') && !details.resource.startsWith(resource.slice(0, -1))) return false;
  if (resource !== undefined && !resource.endsWith('*') && details.resource !== resource)
    return false;
  const deciders = [details.decided_by, ...(details.votes ?? []).map((vote: Json) => vote.by)];
  if (by !== undefined && !deciders.includes(by)) return false;
  if (key === undefined) return true;
  const scope = new Map(Object.entries(details.scope ?? {}));
  const value = scope.get(key);
  if (typeof value !== 'number') return false;
  return (min === undefined || value >= Number(min)) && (max === undefined || value <= Number(max));
}

/** Each of the filters is there or not. */
function filtersOf({ log, agents, members, account }: Scene): fc.Arbitrary<Filters> {
  const pick = (values: (string | undefined)[]) => fc.constantFrom(...values);
  const times = log.map(({ created_at }) => created_at);
  const policies = log.map(({ details }) => details.policy_id).filter((id) => id !== null);
  const plain = {
    agent_id: pick([...agents.map(({ id }) => id), older.agents[0].id]),
    permission_id: pick(log.map((entry) => entry.permission_request_id)),
    event_type: pick(['request', 'approve', 'deny', 'use', 'expire', 'revoke']),
    action: pick(['x.pay', 'x.read', 'x.drop', 'x.send', 'none']),
    start_date: pick(times),
    end_date: pick(times),
  };
  const resources = RESOURCES.flatMap((text) => [text, `${text}*`]);
  const details = {
    resource: pick([...resources, '*', '**', '', 'mailbox:*', 'mailbox:a%', 'mail', 'MAILBOX:*']),
    decided_by: pick([
      ...members.map(({ id }) => id),
      ...policies,
      account.id,
      older.members[0].id,
      'member_x',
      '',
    ]),
  };
  const scope = fc.record({
    scope_key: pick(KEYS),
    scope_min: pick(BOUNDS),
    scope_max: pick(BOUNDS),
  });
  const narrow = fc.oneof(
    { weight: 3, arbitrary: fc.constant({}) },
    { weight: 2, arbitrary: fc.record(plain, { requiredKeys: [] }) },
    ...Object.entries(plain).map(([name, values]) => ({
      weight: 1,
      arbitrary: values.map((value) => ({ [name]: value })),
    })),
  );
  return fc
    .tuple(
      narrow,
      fc.oneof(
        fc.record(details, { requiredKeys: ['resource'] }),
        fc.record(details, { requiredKeys: ['decided_by'] }),
        fc.constant({}),
      ),
      fc.option(scope, { nil: {} }),
      fc.constantFrom('both', 'min', 'max'),
    )
    .map(([others, texts, range, bounds]) => {
      const filters = { ...others, ...texts, ...range } as Filters;
      const { start_date: start, end_date: end } = filters;
      if (start && end && start > end) delete filters.start_date;
      if (bounds === 'min') delete filters.scope_max;
      if (bounds === 'max') delete filters.scope_min;
      if (Number(filters.scope_min) > Number(filters.scope_max)) delete filters.scope_min;
      return filters;
    });
}

const read = (account: TestAccount, query: Filters): Promise<Answer> =>
  account.must(200, 'GET', `/v1/audit?${new URLSearchParams(query)}`);

/** The sequences on all pages, and how many pages there are. */
async function list(account: TestAccount, query: Filters) {
  const sequences: number[] = [];
  let pages = 0;
  for (let cursor: string | null = ''; cursor !== null; pages++) {
    const { body }: Answer = await read(account, { ...query, ...(cursor && { cursor }) });
    sequences.push(...body.data.map(({ sequence }: Json) => sequence));
    expect(body.has_more).toBe(body.next_cursor !== null);
    cursor = body.next_cursor;
  }
  return { sequences, pages };
}

const sequencesOf = (log: Json[], filters: Json): number[] =>
  log.filter((entry) => isMatch(entry, filters)).map(({ sequence }) => sequence);

describe('a search by what the details have', () => {
  it('has histories with votes, every resource and every scope', () => {
    for (const { log } of [scene, older]) {
      const types = new Set(log.map(({ event_type }) => event_type));
      expect([...types].sort()).toEqual(['approve', 'deny', 'expire', 'request', 'revoke']);
      expect(new Set(log.map(({ details }) => details.resource)).size).toBe(RESOURCES.length);
      const voted = log.filter(({ details }) => details.votes?.length > 1);
      expect(voted.length).toBeGreaterThan(2);
      expect(log.at(-1)?.sequence).toBeGreaterThan(log.length);
    }
  });

  it('finds exactly the matching entries with every other filter, in both orders', async () => {
    const cases = fc.tuple(
      filtersOf(scene),
      fc.constantFrom('asc', 'desc'),
      fc.constantFrom('1', '3', '50'),
      fc.option(fc.nat(scene.log.at(-1)?.sequence), { nil: undefined }),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ([filters, order, limit, after]) => {
        const query: Filters = { ...filters, order, limit };
        if (order === 'asc' && after !== undefined) query.after_sequence = String(after);
        const wanted = sequencesOf(scene.log, query);
        if (order === 'desc') wanted.reverse();
        expect((await list(scene.account, query)).sequences).toEqual(wanted);
      }),
      { numRuns: 120 },
    );
  }, 120_000);

  it.each(KEYS)('finds numbers under exactly the key %j', async (scope_key) => {
    for (const bounds of [{ scope_min: '-1e308' }, { scope_min: '5', scope_max: '5.0' }]) {
      const query = { scope_key, ...bounds, order: 'asc' };
      const wanted = sequencesOf(scene.log, query);
      expect((await list(scene.account, query)).sequences).toEqual(wanted);
    }
  });

  it.each(['752035615629932000', '-566401938904418940', '9223372036854775000'])(
    'finds the integer %s, which only rounds to a double, by exactly that bound',
    async (number) => {
      const account = await scene.world.account();
      const agent = await account.agent();
      await agent.request({ scope: { amount: 1 } });
      const { id } = await agent.request({ scope: { amount: Number(number) } });
      const query = { scope_key: 'amount', scope_min: number, scope_max: number };
      const { body } = await read(account, query);
      expect(body.data.map((entry: Json) => entry.permission_request_id)).toEqual([id]);
      const fields = { ...query, scope_min: Number(number), scope_max: Number(number) };
      expect((await makeExport(account, fields)).shown.row_count).toBe(1);
    },
  );

  it('finds who voted without having decided', async () => {
    const [anna] = scene.members;
    const { log } = scene;
    const voted = log.filter(({ details }) =>
      details.votes?.some(({ by }: Json) => by === anna.id),
    );
    const only = voted.filter(({ details }) => details.decided_by !== anna.id);
    expect(only.length).toBeGreaterThan(2);
    const { sequences } = await list(scene.account, { decided_by: anna.id, order: 'asc' });
    for (const { sequence } of only) expect(sequences).toContain(sequence);
  });

  it('takes a cursor only with the same filters', async () => {
    const query = { resource: 'mailbox:*', limit: '2' };
    const { body } = await read(scene.account, query);
    for (const changed of [
      { resource: 'mailbox:a*' },
      { decided_by: scene.account.id },
      { scope_key: 'amount', scope_min: '1' },
    ]) {
      const parameters = new URLSearchParams({ ...query, ...changed, cursor: body.next_cursor });
      const answer = await scene.account.call('GET', `/v1/audit?${parameters}`);
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_cursor']);
    }
  });
});

describe('an export by what the details have', () => {
  it('has exactly the entries that the list has, in all formats', async () => {
    const cases = fc.tuple(
      filtersOf(scene),
      fc.constantFrom('csv', 'json', 'parquet'),
      fc.boolean(),
      fc.constantFrom(1, 7, 4_096),
    );
    const { account } = scene;
    await fc.assert(
      fc.asyncProperty(cases, async ([filters, format, include_details, batchRows]) => {
        const { permission_id: _, event_type, scope_min, scope_max, ...texts } = filters;
        const fields = {
          ...texts,
          format,
          include_details,
          ...(event_type && { event_types: [event_type] }),
          ...(scope_min && { scope_min: Number(scope_min) }),
          ...(scope_max && { scope_max: Number(scope_max) }),
        };
        const sizes = { part: 2 ** 23, sliceRows: 20, sliceBytes: 2 ** 20, slices: 3, batchRows };
        const { shown, bytes } = await makeExport(account, fields, sizes);
        expect(shown).toMatchObject({ status: 'completed', format, include_details });
        const { permission_id: __, ...exported } = filters;
        const wanted = scene.log.filter((entry) => isMatch(entry, exported));
        const rows = await parseFile(format, bytes);
        expect(rows.map(({ sequence }) => sequence)).toEqual(
          wanted.map(({ sequence }) => sequence),
        );
        expect(rows.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
        expect(rows.map(({ resource }) => resource)).toEqual(
          wanted.map(({ details }) => details.resource),
        );
      }),
      { numRuns: 30 },
    );
  }, 120_000);

  it.each<Json>([
    { scope_key: 'amount', scope_min: -1e308 },
    { scope_key: 'amount', scope_max: 5 },
    { scope_key: 'amount', scope_min: 5, scope_max: 5 },
    { scope_key: 'a.b', scope_min: 0 },
    { scope_key: 'a"b', scope_min: 0 },
    { scope_key: '\\"', scope_min: 0 },
    { scope_key: '#-1', scope_min: 0 },
    { resource: 'mailbox:a' },
    { resource: 'mailbox:a*' },
    { resource: 'mailbox:a%*' },
    { resource: 'mailbox:a_*' },
    { resource: 'mailbox:ä👍*', action: 'x.pay' },
  ])('has exactly the matching entries, details or not: %j', async (filters) => {
    const wanted = sequencesOf(scene.log, filters);
    for (const include_details of [true, false]) {
      const { bytes } = await makeExport(scene.account, { ...filters, include_details });
      const rows = await parseFile('json', bytes);
      expect(rows.map(({ sequence }) => sequence)).toEqual(wanted);
    }
  });

  it('shows the filters as they were given, and null for the others', async () => {
    const { account } = scene;
    const fields = {
      start_date: '2026-01-01',
      end_date: '2026-01-31',
      action: 'x.pay',
      resource: 'mailbox:*',
      decided_by: 'anybody',
      scope_key: 'a.b',
      scope_min: -1.5,
      scope_max: 1e308,
    };
    const { shown, id } = await makeExport(account, fields);
    expect(shown).toMatchObject({ ...fields, agent_id: null, event_types: null, row_count: 0 });
    const { body } = await account.must(200, 'GET', '/v1/audit/export?limit=100');
    const listed = body.data.find(({ export_id }: Json) => export_id === id);
    expect(listed).toMatchObject(fields);
  });
});

describe('in a log of thousands of entries', () => {
  const ENTRIES = 2_000;
  /** The most rows that a page of 50 reads. */
  const MOST_READ = 2_100;
  let account: TestAccount;
  let agent: TestAgent;
  let member: TestMember;
  let log: Json[];

  beforeAll(async () => {
    const world = new World();
    await makeHistory(world, 2);
    account = await world.account({ plan: 'enterprise' });
    agent = await account.agent();
    member = await makeMember(account, 'approver');
    const { id } = await agent.request({ resource: 'file:rare', scope: { amount: 7 } });
    await deny({ world }, member, id);
    await agent.request({ scope: { amount: 1 } });
    await fillWithDenials(env.DB, ENTRIES, (await agentNumbers(env.DB)).slice(-1));
    log = await account.log();
  }, 120_000);

  const QUERIES: Filters[] = [
    { resource: 'file:rare' },
    { resource: 'file:*' },
    { resource: 'none' },
    { scope_key: 'amount', scope_min: '2' },
    { scope_key: 'none', scope_max: '2' },
  ];
  const OTHERS: Filters[] = [
    {},
    { action: 'email.send' },
    { event_type: 'deny' },
    { start_date: '2026-01-01' },
  ];

  it.each(QUERIES)('a page of 50 reads few rows, and the next goes on: %j', async (filters) => {
    expect(log.length).toBe(ENTRIES + 3);
    const all = [...OTHERS, { agent_id: agent.id }, { agent_id: agent.id, action: 'email.send' }];
    for (const order of ['asc', 'desc']) {
      for (const others of all) {
        const query = { ...filters, ...others, order };
        const sequences: number[] = [];
        let pages = 0;
        for (let cursor: string | null = ''; cursor !== null; pages++) {
          const page = { ...query, limit: '50', ...(cursor && { cursor }) };
          const { body, cost }: Answer = await read(account, page);
          if (cost.read > MOST_READ || cost.trips > 2) expect([query, cost]).toEqual([query, {}]);
          sequences.push(...body.data.map(({ sequence }: Json) => sequence));
          cursor = body.next_cursor;
        }
        const wanted = sequencesOf(log, query);
        if (order === 'desc') wanted.reverse();
        expect([query, sequences]).toEqual([query, wanted]);
        expect(pages).toBeLessThan(6);
      }
    }
  });

  it('finds the entries of a member, and reads few rows where all match', async () => {
    const byMember = await list(account, { decided_by: member.id });
    expect(byMember.sequences).toEqual([2]);
    expect(byMember.pages).toBe(4);
    const { body, cost } = await read(account, { resource: 'mailbox:*', limit: '50' });
    expect(body.data.length).toBe(50);
    expect(cost.read).toBeLessThan(340);
  });

  it('reads the entries of a permission no more often with these filters than without', async () => {
    const { id, token } = await agent.approved({ max_uses: 1_000, scope: { amount: 9 } });
    for (let use = 0; use < 30; use++)
      await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    const query = { permission_id: id, limit: '50' };
    const plain = await read(account, query);
    expect(plain.body.data).toHaveLength(32);
    for (const filters of [
      { resource: 'none' },
      { scope_key: 'amount', scope_min: '9' },
    ] as Filters[]) {
      const { body, cost } = await read(account, { ...query, ...filters });
      expect(body.data).toHaveLength(filters.resource ? 0 : 32);
      expect(body.has_more).toBe(false);
      expect(cost.read).toBeLessThanOrEqual(plain.cost.read);
    }
  });

  it('exports entries that are far apart, in all formats and in many batches', async () => {
    // More batches lie between them than an encoder may buffer entries for.
    const sizes = { part: 2 ** 23, sliceRows: 20, sliceBytes: 2 ** 20, slices: 3, batchRows: 4 };
    await agent.request({ resource: 'file:last' });
    const last = log.length + 33;
    for (const format of ['csv', 'json', 'parquet']) {
      const fields = { resource: 'file:*', format };
      const { shown, bytes } = await makeExport(account, fields, sizes);
      expect(shown).toMatchObject({ status: 'completed', row_count: 3 });
      const rows = await parseFile(format, bytes);
      expect(rows.map(({ sequence }) => sequence)).toEqual([1, 2, last]);
      if (format !== 'parquet') continue;
      const { row_groups } = parquetMetadata(Uint8Array.from(bytes).buffer);
      expect(row_groups.map(({ num_rows }) => num_rows)).toEqual([2n, 1n]);
    }
  });

  it('goes on after hidden entries: each page examines the same number of them', async () => {
    const hidden = await account.agent();
    await hidden.request({ resource: 'file:hidden' });
    await fillWithDenials(env.DB, 2_000, (await agentNumbers(env.DB)).slice(-1));
    await account.must(204, 'DELETE', `/v1/agents/${hidden.id}`);
    for (const order of ['asc', 'desc']) {
      const { sequences } = await list(account, { resource: 'file:*', order, limit: '20' });
      const found = [1, 2, log.length + 33];
      expect(sequences).toEqual(order === 'asc' ? found : found.reverse());
    }
  });
});
