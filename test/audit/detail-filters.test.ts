import { beforeAll, describe, expect, it } from 'vitest';
import { makeExport } from '../support/exports';
import { makeMember } from '../support/members';
import { approve, deny } from '../support/reviews';
import { type Json, type TestAccount, World } from '../support/world';

interface Scene {
  world: World;
  account: TestAccount;
  log: Json[];
  /** The member who denied the request for `file:a`. */
  decider: string;
}

let scene: Scene;
beforeAll(async () => {
  const world = new World();
  await (await (await world.account()).agent()).request({ resource: 'file:a' });
  const account = await world.account({ plan: 'enterprise' });
  const agent = await account.agent();
  const [member, other] = [
    await makeMember(account, 'approver'),
    await makeMember(account, 'approver'),
  ];
  const small = await agent.request({ resource: 'file:a', scope: { amount: 5 } });
  await deny({ world }, member, small.id);
  const large = await agent.request({ resource: 'mailbox:a', scope: { amount: 500 } });
  await approve({ world }, other, large.id);
  scene = { world, account, log: await account.log(), decider: member.id };
});

it.each<[query: () => Json, events: string[]]>([
  [() => ({ resource: 'file:a' }), ['request', 'deny']],
  [() => ({ resource: 'mailbox:*' }), ['request', 'approve']],
  [() => ({ decided_by: scene.decider }), ['deny']],
  [() => ({ scope_key: 'amount', scope_min: '6' }), ['request', 'approve']],
  [() => ({ scope_key: 'amount', scope_max: '5' }), ['request', 'deny']],
])(
  'a search finds the entries with these details, and so does an export: %s',
  async (query, events) => {
    const { account } = scene;
    const parameters = new URLSearchParams({ ...query(), order: 'asc' });
    const { body } = await account.must(200, 'GET', `/v1/audit?${parameters}`);
    expect(body.data.map(({ event_type }: Json) => event_type)).toEqual(events);
    const { scope_min, scope_max, ...others } = query();
    const bounds = {
      ...(scope_min && { scope_min: Number(scope_min) }),
      ...(scope_max && { scope_max: Number(scope_max) }),
    };
    const { shown } = await makeExport(account, { ...others, ...bounds });
    expect(shown.row_count).toBe(events.length);
  },
);

it('an export takes an end after today as the end of today', async () => {
  const { account, world } = scene;
  const today = new Date(world.now).toISOString().slice(0, 10);
  const tomorrow = new Date(world.now + 86_400_000).toISOString().slice(0, 10);
  const end = `${tomorrow}T00:00:00.000Z`;
  const cases: [given: string, shown: string][] = [
    [today, today],
    [end, end],
    [tomorrow, end],
    ['2100-01-01', end],
    [`${tomorrow}T00:00:00.001Z`, end],
  ];
  for (const [end_date, shown] of cases) {
    const made = await makeExport(account, { start_date: '2026-01-01', end_date });
    expect(made.shown).toMatchObject({ end_date: shown, row_count: scene.log.length });
  }
  const late = { start_date: '2099-01-01', end_date: '2100-01-01' };
  const { body } = await account.must(400, 'POST', '/v1/audit/export', late);
  expect(body.errors).toMatchObject([{ path: 'body.start_date' }]);
});

describe('contradictory filters', () => {
  const CASES: [filters: Json, field: string][] = [
    [{ scope_key: 'amount' }, 'scope_key'],
    [{ scope_min: 1 }, 'scope_min'],
    [{ scope_max: 1 }, 'scope_max'],
    [{ scope_key: 'amount', scope_min: 2, scope_max: 1 }, 'scope_min'],
  ];

  it.each(CASES)('are refused: %j', async (filters, field) => {
    const { account } = scene;
    const listed = await account.must(400, 'GET', `/v1/audit?${new URLSearchParams(filters)}`);
    expect(listed.body).toMatchObject({
      code: 'invalid_request',
      errors: [{ path: `query.${field}` }],
    });
    const fields = { start_date: '2026-01-01', end_date: '2026-01-31', ...filters };
    const exported = await account.must(400, 'POST', '/v1/audit/export', fields);
    expect(exported.body).toMatchObject({
      code: 'invalid_request',
      errors: [{ path: `body.${field}` }],
    });
  });

  it.each(['NaN', 'Infinity', '', ' 1', '1 ', '+1', '01', '.5', '1.', '0x1', '1e', '1e999', '"1"'])(
    'have bounds that are no JSON number: %j',
    async (scope_min) => {
      const query = new URLSearchParams({ scope_key: 'amount', scope_min });
      const { body } = await scene.account.must(400, 'GET', `/v1/audit?${query}`);
      expect(body.errors).toMatchObject([{ path: 'query.scope_min' }]);
    },
  );

  it.each(['"1"', 'null', 'true', '[1]', '1e999', '9007199254740993'])(
    'have a bound in a body that is no number: %s',
    async (bound) => {
      const raw = `{"start_date":"2026-01-01","end_date":"2026-01-31","scope_key":"a","scope_max":${bound}}`;
      const { status, body } = await scene.world.call('POST', '/v1/audit/export', {
        token: scene.account.token,
        raw,
        headers: { 'Content-Type': 'application/json' },
      });
      expect([status, body.errors]).toMatchObject([400, [{ path: 'body.scope_max' }]]);
    },
  );
});
