import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { agentNumbers, fillWithDenials } from '../support/bulk-log';
import { depth } from '../support/depth';
import { sealLogs } from '../support/seal';
import { emptyTables } from '../support/tables';
import { type Json, makeAgent, type TestAccount, type TestAgent, World } from '../support/world';

const DAY = 86_400_000;

beforeEach(() => emptyTables(env.DB));

/** The time at which a world begins. */
const NOON = Date.UTC(2026, 0, 31, 12);

const iso = (time: number) => new Date(time).toISOString();

async function histogram(
  account: TestAccount,
  start: string,
  end: string,
  buckets?: number,
): Promise<Json[]> {
  const query = new URLSearchParams({
    start_date: start,
    end_date: end,
    ...(buckets && { buckets: `${buckets}` }),
  });
  return (await account.must(200, 'GET', `/v1/audit/histogram?${query}`)).body.data;
}

/** The numbers of entries in the buckets between two times. */
async function counts(
  account: TestAccount,
  from: number,
  to: number,
  buckets: number,
): Promise<number[]> {
  return (await histogram(account, iso(from), iso(to), buckets)).map(({ entries }) => entries);
}

/** The start of a bucket in whole milliseconds. A half is rounded up. */
function bucketStart(from: number, to: number, buckets: number, i: number): number {
  const [n, numerator] = [
    BigInt(buckets),
    BigInt(from) * BigInt(buckets) + BigInt(i) * BigInt(to - from),
  ];
  return Number((2n * numerator + n) / (2n * n));
}

/** The histogram of entries that `GET /v1/audit` lists. */
function histogramOf(log: Json[], from: number, to: number, buckets: number): Json[] {
  return Array.from({ length: buckets }, (_, i) => {
    const [start, end] = [i, i + 1].map((index) => iso(bucketStart(from, to, buckets, index)));
    const within = log.filter(({ created_at: at }) => at >= (start ?? '') && at < (end ?? ''));
    return { start, entries: within.length };
  });
}

/** Deletes an agent and erases its entries. */
async function eraseAgent({ account, id }: TestAgent): Promise<void> {
  await account.must(204, 'DELETE', `/v1/agents/${id}`);
  await sealLogs(env.DB);
  await account.world.sweep();
}

describe.runIf(depth.isDeep)('a histogram of random logs', () => {
  const steps = fc.array(
    fc.record({
      agent: fc.nat({ max: 2 }),
      pause: fc.constantFrom(0, 0, 1, 2, 999, DAY / 3),
      kind: fc.constantFrom('request', 'request', 'request', 'deny', 'erase'),
    }),
    { minLength: 1, maxLength: 25 },
  );
  // Each end lies near an entry, which the number chooses; the whole day of that time is used
  // instead if `isDate`.
  const end = fc.record({
    entry: fc.nat(),
    offset: fc.integer({ min: -3, max: 3 }),
    isDate: fc.boolean(),
  });
  const queries = fc.array(
    fc.record({ ends: fc.tuple(end, end), buckets: fc.integer({ min: 1, max: 366 }) }),
    {
      minLength: 6,
      maxLength: 6,
    },
  );

  it('counts the entries that the log lists', async () => {
    await fc.assert(
      fc
        .asyncProperty(steps, queries, async (steps, queries) => {
          const account = await makeLog(steps);
          const log = await account.log();
          const times = [
            NOON - DAY,
            ...log.map(({ created_at }) => Date.parse(created_at)),
            account.world.now + DAY,
          ];
          for (const { ends, buckets } of queries) {
            const near = ends.map(
              ({ entry, offset }) => (times[entry % times.length] ?? 0) + offset,
            );
            const [from = 0, to = 0] = near.sort((a, b) => a - b);
            const [hasStartDate, hasEndDate] = ends.map(({ isDate }) => isDate);
            const day = (time: number) => iso(time).slice(0, 10);
            const start = hasStartDate ? day(from) : iso(from);
            const finish = hasEndDate ? day(to) : iso(to);
            const bounds = [Date.parse(start), hasEndDate ? Date.parse(finish) + DAY : to] as const;
            expect(await histogram(account, start, finish, buckets)).toEqual(
              histogramOf(log, ...bounds, buckets),
            );
          }
        })
        .beforeEach(() => emptyTables(env.DB)),
      // A smaller example would take minutes to find.
      { numRuns: depth.runs(3, 60), endOnFailure: true },
    );
  });

  /** Makes an account with a log, and two others whose logs lie before and after it. */
  async function makeLog(
    steps: { agent: number; pause: number; kind: string }[],
  ): Promise<TestAccount> {
    const world = new World();
    const accounts = [
      await world.account(),
      await world.account({ plan: 'pro' }),
      await world.account(),
    ] as const;
    const account = accounts[1];
    for (const each of accounts) await (await each.agent()).request();
    const agents = [await account.agent(), await account.agent(), await account.agent()];
    for (const { agent: index, pause, kind } of steps) {
      world.advance(pause);
      const agent = agents[index] as TestAgent;
      if (kind === 'erase') {
        await eraseAgent(agent);
        agents[index] = await account.agent();
        continue;
      }
      const { id } = await agent.request();
      if (kind === 'deny') await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    }
    for (const each of accounts) await (await each.agent()).request();
    return account;
  }
});

describe('a bucket', () => {
  it('has the entries from its first millisecond until the one before the next bucket', async () => {
    const { world, account, agent } = await makeAgent();
    for (const pause of [0, 0, 1, 9]) {
      world.advance(pause);
      await agent.request();
    }
    expect(await counts(account, NOON, NOON + 20, 2)).toEqual([3, 1]);
    expect(await counts(account, NOON - 10, NOON + 10, 2)).toEqual([0, 3]);
    expect(await counts(account, NOON - 9, NOON + 11, 2)).toEqual([2, 2]);
    expect(await counts(account, NOON, NOON + 11, 11)).toEqual([2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    expect(await counts(account, NOON + 1, NOON + 10, 1)).toEqual([1]);
    expect(await counts(account, NOON - 1, NOON, 1)).toEqual([0]);
    expect(await counts(account, NOON + 11, NOON + 99, 1)).toEqual([0]);
    expect(await counts(account, NOON, NOON, 3)).toEqual([0, 0, 0]);
  });

  it.each<[length: number, buckets: number, starts: number[]]>([
    [10, 3, [0, 3, 7]],
    [10, 4, [0, 3, 5, 8]],
    [1_000, 7, [0, 143, 286, 429, 571, 714, 857]],
    [2, 5, [0, 0, 1, 1, 2]],
    [0, 2, [0, 0]],
  ])(
    'of %d milliseconds in %d starts at the nearest millisecond',
    async (length, buckets, starts) => {
      const { account, agent } = await makeAgent();
      await agent.request();
      const data = await histogram(account, iso(NOON), iso(NOON + length), buckets);
      expect(data.map(({ start }) => Date.parse(start) - NOON)).toEqual(starts);
      expect(data.reduce((sum, { entries }) => sum + entries, 0)).toBe(length > 0 ? 1 : 0);
    },
  );

  it('is one of 60 by default, and a date as the end is included', async () => {
    const { account, agent } = await makeAgent();
    await agent.request();
    const data = await histogram(account, '2026-01-31', '2026-01-31');
    expect(data).toEqual(
      Array.from({ length: 60 }, (_, i) => ({
        start: iso(Date.UTC(2026, 0, 31) + (i * DAY) / 60),
        entries: i === 30 ? 1 : 0,
      })),
    );
  });

  it('is correct in a range of two centuries', async () => {
    const { account, agent } = await makeAgent();
    await agent.request();
    const data = await histogram(account, '2000-01-01', '2199-12-31', 366);
    expect(data).toEqual(
      histogramOf(await account.log(), Date.UTC(2000, 0), Date.UTC(2200, 0), 366),
    );
  });
});

describe('entries that are not counted', () => {
  it('are those of a deleted agent, as soon as they are erased', async () => {
    const { account, agent } = await makeAgent();
    const others = [await account.agent(), await account.agent()] as const;
    const step = async (agent: TestAgent) => {
      await agent.request();
      account.world.advance(1);
    };
    for (const each of [others[0], agent, others[0], others[1], agent, agent, others[1], others[0]])
      await step(each);
    const read = () => counts(account, NOON, NOON + 8, 4);
    expect(await read()).toEqual([2, 2, 2, 2]);
    await account.must(204, 'DELETE', `/v1/agents/${others[0].id}`);
    expect(await read()).toEqual([2, 2, 2, 2]);
    await sealLogs(env.DB);
    await account.world.sweep();
    expect(await read()).toEqual([1, 1, 2, 1]);
    await eraseAgent(others[1]);
    expect(await read()).toEqual([1, 0, 2, 0]);
    expect(await counts(account, NOON + 3, NOON + 5, 2)).toEqual([0, 1]);
    await eraseAgent(agent);
    expect(await read()).toEqual([0, 0, 0, 0]);
    await step(await account.agent());
    expect(await counts(account, NOON, NOON + 10, 5)).toEqual([0, 0, 0, 0, 1]);
  });

  it('are those of a deleted agent at the beginning of the first bucket', async () => {
    const { world, account, agent } = await makeAgent();
    const other = await account.agent();
    for (const each of [agent, other, agent]) {
      await each.request();
      world.advance(1);
    }
    await eraseAgent(other);
    expect(await counts(account, NOON + 1, NOON + 3, 2)).toEqual([0, 1]);
  });

  it('are those beyond retention, erased or not', async () => {
    const { world, account, agent } = await makeAgent();
    const other = await account.agent();
    for (const each of [agent, other, agent, other, agent]) {
      await account.must(200, 'POST', `/v1/permissions/${(await each.request()).id}/deny`);
      world.advance(DAY);
    }
    await eraseAgent(other);
    const read = () => counts(account, NOON - DAY, NOON + 9 * DAY, 10);
    world.now = NOON + 7 * DAY;
    expect(await read()).toEqual([0, 2, 0, 2, 0, 2, 0, 0, 0, 0]);
    world.advance(1);
    expect(await read()).toEqual([0, 0, 0, 2, 0, 2, 0, 0, 0, 0]);
    expect(await counts(account, NOON - DAY, NOON + 1, 1)).toEqual([0]);
    world.advance(2 * DAY);
    const hidden = await read();
    expect(hidden).toEqual([0, 0, 0, 0, 0, 2, 0, 0, 0, 0]);
    await world.clean();
    expect(
      await env.DB.prepare('select 1 from erased_entries where reason = 1').first(),
    ).not.toBeNull();
    expect(await read()).toEqual(hidden);
    world.advance(2 * DAY);
    await world.clean();
    expect(await read()).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  });

  it('are those of other accounts', async () => {
    const world = new World();
    const accounts = [await world.account(), await world.account(), await world.account()];
    const erased: TestAgent[] = [];
    for (const [i, account] of accounts.entries()) {
      const [kept, other] = [await account.agent(), await account.agent()];
      erased.push(other);
      for (const agent of [kept, other, other, ...Array<TestAgent>(i + 1).fill(kept)])
        await agent.request();
    }
    for (const agent of erased) await eraseAgent(agent);
    for (const [i, account] of accounts.entries()) {
      expect(await counts(account, NOON - DAY, NOON + DAY, 2)).toEqual([0, i + 2]);
    }
  });
});

describe('a request for a histogram', () => {
  it('is answered with zeros for an empty log', async () => {
    const data = await histogram(await new World().account(), '2026-01-30', '2026-01-31', 2);
    expect(data).toEqual([
      { start: '2026-01-30T00:00:00.000Z', entries: 0 },
      { start: '2026-01-31T00:00:00.000Z', entries: 0 },
    ]);
  });

  const DATES = 'start_date=2026-01-01&end_date=2026-01-31';

  it.each([
    ['', ['start_date', 'end_date']],
    ['start_date=2026-01-01', ['end_date']],
    ['end_date=2026-01-31', ['start_date']],
    ['start_date=x&end_date=2026-02-30', ['start_date', 'end_date']],
    ['start_date=2026-01-31T12:00:00&end_date=2026-01-31', ['start_date']],
    ['start_date=2026-02-01&end_date=2026-01-31', ['start_date']],
    ['start_date=2026-01-31T12:00:00.001Z&end_date=2026-01-31T12:00:00Z', ['start_date']],
    ...['0', '367', '-1', '1.5', '1e2', 'x', '', '%00'].map((buckets) => [
      `${DATES}&buckets=${buckets}`,
      ['buckets'],
    ]),
    [`${DATES}&buckets=1&buckets=1`, ['buckets']],
    [`${DATES}&start_date=2026-01-01`, ['start_date']],
    [`${DATES}&agent_id=agent_01h455vb4pex5vsknk084sn02q`, ['agent_id']],
  ] as [string, string[]][])('is refused with the parameters %j', async (query, named) => {
    const { status, body } = await (await new World().account()).call(
      'GET',
      `/v1/audit/histogram?${query}`,
    );
    expect([status, body.code]).toEqual([400, 'invalid_request']);
    expect(body.errors.map(({ path }: Json) => path)).toEqual(named.map((name) => `query.${name}`));
  });

  it.each([1, 366])('can ask for %d buckets', async (buckets) => {
    expect(
      await histogram(await new World().account(), '2026-01-01', '2026-01-31', buckets),
    ).toHaveLength(buckets);
  });

  it('takes two round trips, and reads few rows of a long log', { timeout: 60_000 }, async () => {
    const length = depth.runs(10_000, 200_000);
    const { account, agent } = await makeAgent();
    await agent.request();
    await fillWithDenials(env.DB, length - 1, (await agentNumbers(env.DB)).slice(-1));
    const ofAccount = 'pos / 4294967296 = (select max(pos) / 4294967296 from audit_entries)';
    await env.DB.prepare(
      `update audit_entries set created_at = created_at + pos % 4294967296 - 1 where ${ofAccount}`,
    ).run();
    const path = `/v1/audit/histogram?start_date=${iso(NOON)}&end_date=${iso(NOON + length)}&buckets`;
    await account.must(200, 'GET', `${path}=1`);
    const { body, cost } = await account.must(200, 'GET', `${path}=366`);
    const sizes = body.data.map(({ entries }: Json) => entries);
    expect(sizes.reduce((sum: number, entries: number) => sum + entries)).toBe(length);
    expect(Math.max(...sizes) - Math.min(...sizes)).toBe(1);
    expect(cost).toMatchObject({ trips: 2, written: 0 });
    // Each step of a binary search counts as two rows.
    expect(cost.read).toBeLessThan(367 * (2 * Math.ceil(Math.log2(length)) + 15));
  });

  it.runIf(depth.isDeep)('reads only the erased ranges of its time', async () => {
    const { world, agent, account } = await makeAgent();
    const other = await account.agent();
    await agent.request();
    world.advance(1);
    for (let i = 0; i < 50; i++) for (const each of [other, agent]) await each.request();
    world.advance(1);
    await agent.request();
    await eraseAgent(other);
    const read = async (from: number, to: number) => {
      const path = `/v1/audit/histogram?start_date=${iso(from)}&end_date=${iso(to)}&buckets=1`;
      const { body, cost } = await account.must(200, 'GET', path);
      return [body.data[0].entries, cost.read < 75 ? 'few rows' : 'many rows'];
    };
    expect(await read(NOON, NOON + 3)).toEqual([52, 'many rows']);
    expect(await read(NOON, NOON + 1)).toEqual([1, 'few rows']);
    expect(await read(NOON + 2, NOON + 3)).toEqual([1, 'few rows']);
  });
});
