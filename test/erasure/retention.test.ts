import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { agentNumbers, fillWithDenials } from '../support/bulk-log';
import { depth } from '../support/depth';
import { checkErasure } from '../support/erasure';
import { FaultyDatabase } from '../support/faults';
import { CONTENTS } from '../support/life';
import { KEPT_DAYS } from '../support/plans';
import { sealLogs } from '../support/seal';
import { countRows, emptyTables } from '../support/tables';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

beforeEach(() => emptyTables(env.DB));

async function makeAgent(fields: Json = {}) {
  const account = await new World().account(fields);
  return { world: account.world, account, agent: await account.agent() };
}

/** Seals all logs and runs the hourly sweep. */
async function cleanUp(world: World): Promise<void> {
  await sealLogs(env.DB);
  await world.clean();
  expect(await checkErasure(env.DB)).toEqual([]);
}

async function stored(): Promise<number[]> {
  const { results } = await env.DB.prepare(
    'select pos % 4294967296 as sequence from audit_entries order by pos',
  ).all<{
    sequence: number;
  }>();
  return results.map(({ sequence }) => sequence);
}

async function erasedRanges(): Promise<Json[]> {
  const { results } = await env.DB.prepare(
    'select reason, ranges from erased_entries order by id',
  ).all<Json>();
  return results.map(({ reason, ranges }) => [
    ['agent_deleted', 'retention'][reason],
    JSON.parse(ranges),
  ]);
}

async function dueAt(): Promise<number | null> {
  return env.DB.prepare(
    'select retention_due_at as due from accounts order by number desc',
  ).first<number>('due');
}

function patch({ world, id }: TestAccount, body: Json) {
  return world.must(200, 'PATCH', `/v1/admin/users/${id}`, {
    token: world.env.ADMIN_TOKEN ?? '',
    body,
  });
}

describe('the hourly sweep', () => {
  it.each(KEPT_DAYS)(
    'of an account with %j erases entries older than %d days, to the millisecond',
    async (fields, days) => {
      const { world, account, agent } = await makeAgent(fields);
      const { id } = await agent.request();
      await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
      world.advance(days * DAY);
      await cleanUp(world);
      expect(await stored()).toEqual([1, 2]);
      expect((await account.log()).length).toBe(2);
      world.advance(1);
      expect(await account.log()).toEqual([]);
      await cleanUp(world);
      expect(await stored()).toEqual([]);
      expect(await erasedRanges()).toEqual([['retention', [[1, 2]]]]);
      await account.must(404, 'GET', `/v1/permissions/${id}`);
    },
  );

  it('leaves no entry, permission, activity or due time of an idle account', async () => {
    const { world, account, agent } = await makeAgent();
    const { id } = await agent.request(CONTENTS);
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    expect(await dueAt()).not.toBeNull();
    world.advance(7 * DAY + 1);
    await cleanUp(world);
    const { audit_entries, permissions, permission_contents, activity, erased_entries } =
      await countRows(env.DB);
    expect({ audit_entries, permissions, permission_contents, activity, erased_entries }).toEqual({
      ...{
        audit_entries: 0,
        permissions: 0,
        permission_contents: 0,
        activity: 0,
        erased_entries: 1,
      },
    });
    expect(await dueAt()).toBeNull();
  });

  it('erases entries as they expire, and keeps a single erasure record', async () => {
    const { world, account, agent } = await makeAgent();
    for (let day = 1; day <= 4; day++) {
      const { id } = await agent.request();
      await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
      world.advance(DAY);
    }
    world.advance(3 * DAY + 1);
    for (let day = 1; day <= 4; day++) {
      await cleanUp(world);
      expect(await stored()).toEqual([3, 4, 5, 6, 7, 8].slice(2 * (day - 1)));
      expect(await erasedRanges()).toEqual([['retention', [[1, 2 * day]]]]);
      world.advance(DAY);
    }
    expect(await dueAt()).toBeNull();
  });

  it('keeps the erasure record of a deleted agent until its own record covers all entries in it', async () => {
    const { world, account, agent } = await makeAgent();
    const other = await account.agent();
    for (let i = 1; i <= 3; i++) {
      for (const each of [agent, other]) {
        await account.must(200, 'POST', `/v1/permissions/${(await each.request()).id}/deny`);
      }
      world.advance(DAY);
    }
    await account.must(204, 'DELETE', `/v1/agents/${other.id}`);
    await sealLogs(env.DB);
    await world.sweep();
    const ofAgent = [
      'agent_deleted',
      [
        [3, 4],
        [7, 8],
        [11, 12],
      ],
    ];
    expect(await erasedRanges()).toEqual([ofAgent]);
    world.advance(5 * DAY + 1);
    await cleanUp(world);
    expect(await erasedRanges()).toEqual([['retention', [[1, 6]]], ofAgent]);
    world.advance(DAY);
    await cleanUp(world);
    expect(await erasedRanges()).toEqual([['retention', [[1, 10]]], ofAgent]);
    await account.must(200, 'POST', `/v1/permissions/${(await agent.request()).id}/deny`);
    world.advance(7 * DAY + 1);
    await cleanUp(world);
    expect(await erasedRanges()).toEqual([['retention', [[1, 14]]]]);
  });

  it('does not change the next sequence number when it erases the whole log', async () => {
    const { world, account, agent } = await makeAgent();
    const { id } = await agent.request();
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    world.advance(8 * DAY);
    await cleanUp(world);
    world.advance(-2 * DAY);
    await agent.request();
    const [entry] = await account.log();
    expect([entry.sequence, entry.created_at]).toEqual([3, new Date(world.now).toISOString()]);
    expect(await dueAt()).toBe(world.now + 7 * DAY + 1);
  });

  it('erases only sealed entries, and the rest in a later sweep', async () => {
    const { world, account, agent } = await makeAgent();
    const requests = [
      await agent.request(),
      await agent.request(),
      await agent.request(),
      await agent.request(),
    ];
    await account.must(200, 'POST', `/v1/permissions/${requests[0].id}/deny`);
    await sealLogs(env.DB);
    for (const { id } of requests.slice(1))
      await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    world.advance(8 * DAY);
    await world.clean();
    expect(await stored()).toEqual([6, 7, 8]);
    expect(await erasedRanges()).toEqual([['retention', [[1, 5]]]]);
    expect(await checkErasure(env.DB)).toEqual([]);
    world.advance(HOUR);
    await cleanUp(world);
    expect(await stored()).toEqual([]);
    expect(await dueAt()).toBeNull();
  });

  it('reads no rows of accounts that are not due', async () => {
    const { world, agent } = await makeAgent();
    await agent.request();
    await env.DB.prepare(
      `insert into accounts (id, email, plan, is_active, created_at, updated_at, retention_due_at)
       select randomblob(16), 'x', 0, 1, 0, 0, iif(value % 2, null, ${world.now + 1}) from (with recursive n(value) as
       (select 1 union all select value + 1 from n where value < 2000) select value from n)`,
    ).run();
    const read: number[] = [];
    const DB = {
      prepare: (sql: string) => env.DB.prepare(sql),
      batch: async (statements: D1PreparedStatement[]) => {
        const results = await env.DB.batch(statements);
        read.push(...results.map(({ meta }) => meta.rows_read));
        return results;
      },
    } as unknown as D1Database;
    const metered = new World({ DB });
    await metered.clean();
    await metered.sweep();
    expect(Math.max(...read)).toBeLessThan(20);
  });
});

describe('the activity of an account', () => {
  it('is erased at the same age, even if the account has no entries', async () => {
    const { world, account } = await makeAgent();
    world.advance(DAY);
    await account.agent();
    world.advance(6 * DAY + 1);
    const shown = (await account.must(200, 'GET', '/v1/activity')).body.data;
    expect(shown).toHaveLength(1);
    await cleanUp(world);
    expect((await countRows(env.DB)).activity).toBe(1);
    expect((await account.must(200, 'GET', '/v1/activity')).body.data).toEqual(shown);
    world.advance(DAY);
    await cleanUp(world);
    expect((await countRows(env.DB)).activity).toBe(0);
    expect(await dueAt()).toBeNull();
  });

  it('is erased in slices', async () => {
    const { world } = await makeAgent();
    await env.DB.prepare(
      `insert into activity select account, unhex(printf('%012x%020x', created_at, n.value)), actor, action, target,
         changes, ip_address, user_agent, created_at
       from (select * from activity limit 1), (with recursive n(value) as (select 1 union all select value + 1 from n
       where value < 1200) select value from n) as n`,
    ).run();
    world.advance(7 * DAY + 1);
    await cleanUp(world);
    expect((await countRows(env.DB)).activity).toBe(0);
  });
});

describe('a permission', () => {
  /**
   * A permission one day and one millisecond after its request, in an account with a retention of
   * one day.
   */
  async function afterADay(
    act: (agent: TestAgent, id: string) => Promise<unknown>,
    fields: Json = {},
  ) {
    const { world, account, agent } = await makeAgent({
      plan: 'enterprise',
      audit_retention_days: 1,
    });
    const { id } = await agent.request({ expires_in: 604_800, ...fields });
    await act(agent, id);
    world.advance(DAY + 1);
    await cleanUp(world);
    const status = (await account.call('GET', `/v1/permissions/${id}`)).body.status;
    return { world, account, agent, id, status };
  }

  it('that is pending is kept, can be decided, and is erased together with the entry of its decision', async () => {
    const { world, account, id, status } = await afterADay(async () => undefined);
    expect([status, await stored()]).toEqual(['pending', []]);
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    expect((await account.log()).map(({ sequence, event_type }) => [sequence, event_type])).toEqual(
      [[2, 'deny']],
    );
    world.advance(DAY + 1);
    await cleanUp(world);
    await account.must(404, 'GET', `/v1/permissions/${id}`);
  });

  it('that expires after its first entry was erased still gets an `expire` entry', async () => {
    const { world, account, id } = await afterADay(async () => undefined);
    world.advance(6 * DAY);
    await cleanUp(world);
    expect((await account.must(200, 'GET', `/v1/permissions/${id}`)).body.status).toBe('expired');
    await world.sweep();
    expect((await account.log()).map(({ event_type }) => event_type)).toEqual(['expire']);
    await cleanUp(world);
    await account.must(200, 'GET', `/v1/permissions/${id}`);
    world.advance(DAY + 1);
    await cleanUp(world);
    expect((await countRows(env.DB)).permissions).toBe(0);
  });

  it('is kept as long as one of its entries', async () => {
    const { world, account, agent } = await makeAgent({
      plan: 'enterprise',
      audit_retention_days: 1,
    });
    const { id } = await agent.request({ expires_in: 604_800 });
    world.advance(DAY);
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
    world.advance(1);
    await cleanUp(world);
    expect(await stored()).toEqual([2]);
    await account.must(200, 'GET', `/v1/permissions/${id}`);
    expect((await account.log(`&permission_id=${id}`)).map(({ sequence }) => sequence)).toEqual([
      2,
    ]);
    world.advance(DAY);
    await cleanUp(world);
    await account.must(404, 'GET', `/v1/permissions/${id}`);
  });

  it('is erased when its partly used token has expired, although no entry records the expiry', async () => {
    const { id, account } = await afterADay(
      async (agent, permission) => {
        await agent.account.must(200, 'POST', `/v1/permissions/${permission}/approve`);
        const { body } = await agent.must(200, 'GET', `/v1/permissions/${permission}`);
        await agent.must(200, 'POST', '/v1/tokens/use', { token: body.token.value });
      },
      { max_uses: 2, token_ttl: 86_400 },
    );
    await account.must(404, 'GET', `/v1/permissions/${id}`);
  });

  it('whose token was never used is kept until the entry of its expiry is erased', async () => {
    const { world, account, id, status } = await afterADay(async (agent, permission) => {
      await agent.account.must(200, 'POST', `/v1/permissions/${permission}/approve`);
    });
    expect(status).toBe('approved');
    await world.sweep();
    expect((await account.log()).map(({ event_type }) => event_type)).toEqual(['expire']);
    world.advance(DAY + 1);
    await cleanUp(world);
    await account.must(404, 'GET', `/v1/permissions/${id}`);
  });

  it('that is erased does not change the statistics', async () => {
    const { agent, account } = await afterADay((agent, permission) =>
      agent.account.must(200, 'POST', `/v1/permissions/${permission}/deny`),
    );
    const { body } = await account.must(200, 'GET', `/v1/agents/${agent.id}/stats`);
    expect(body).toMatchObject({ total_requests: 1, denied_requests: 1 });
    expect((await countRows(env.DB)).permissions).toBe(0);
  });
});

describe('a change of the plan', () => {
  it('to a shorter retention makes the next sweep erase the older entries', async () => {
    const { world, account, agent } = await makeAgent({ plan: 'enterprise' });
    await agent.request();
    world.advance(8 * DAY);
    await agent.request();
    await cleanUp(world);
    expect(await stored()).toEqual([1, 2]);
    await patch(account, { plan: 'free' });
    await cleanUp(world);
    expect(await stored()).toEqual([2]);
    expect(await dueAt()).toBe(world.now + 7 * DAY + 1);
  });

  it('to a shorter custom retention makes the next sweep erase the older entries', async () => {
    const { world, account, agent } = await makeAgent({ plan: 'enterprise' });
    await agent.request();
    world.advance(8 * DAY);
    await patch(account, { audit_retention_days: 8 });
    await cleanUp(world);
    expect(await stored()).toEqual([1]);
    await patch(account, { audit_retention_days: 7 });
    await cleanUp(world);
    expect(await stored()).toEqual([]);
  });

  it('to a longer retention keeps the entries that are not erased yet', async () => {
    const { world, account, agent } = await makeAgent();
    await agent.request();
    world.advance(DAY);
    await agent.request();
    world.advance(6 * DAY + 1);
    await cleanUp(world);
    world.advance(DAY);
    await patch(account, { plan: 'pro' });
    await cleanUp(world);
    expect(await stored()).toEqual([2]);
    expect((await account.log()).map(({ sequence }) => sequence)).toEqual([2]);
    expect(await dueAt()).toBe(world.now - 7 * DAY + 90 * DAY);
  });

  it.each(['entries', 'activity'])(
    'during a sweep takes effect immediately (on %s)',
    async (what) => {
      for (let call = 1; call <= 3; call++) {
        await emptyTables(env.DB);
        const { world, account, agent } = await makeAgent();
        await agent.request();
        await env.DB.prepare(
          what === 'activity' ? 'delete from audit_entries' : 'delete from activity',
        ).run();
        world.advance(8 * DAY);
        await sealLogs(env.DB);
        const database = new FaultyDatabase(env.DB);
        const sweeping = new World({ DB: database.binding });
        sweeping.now = world.now;
        database.before(call, () => patch(account, { plan: 'pro' }), /retention_due_at/);
        await sweeping.clean();
        const { audit_entries, activity } = await countRows(env.DB);
        const kept = what === 'activity' ? 2 : 0;
        // The change itself is recorded in the activity as well.
        expect([audit_entries, activity]).toEqual(
          call <= 2 ? [what === 'entries' ? 1 : 0, kept + 1] : [0, 1],
        );
      }
    },
  );
});

describe('an account with more than a slice to erase', () => {
  it('has all of it erased in one sweep, including decided permissions', async () => {
    const { world, agent } = await makeAgent();
    await agent.request();
    await fillWithDenials(env.DB, 2_000, await agentNumbers(env.DB));
    world.advance(7 * DAY + 1);
    await cleanUp(world);
    const { audit_entries, permissions } = await countRows(env.DB);
    expect([audit_entries, permissions]).toEqual([0, 1]);
    expect(await erasedRanges()).toEqual([['retention', [[1, 2_001]]]]);
  });

  it.runIf(depth.isDeep)(
    'has the rest erased by the sweeps of each minute if the hourly sweep does not finish',
    async () => {
      const { world, agent } = await makeAgent();
      await agent.request();
      await fillWithDenials(env.DB, 60_000, await agentNumbers(env.DB));
      const other = await (await world.account()).agent();
      await other.request();
      world.advance(7 * DAY + 1);
      await sealLogs(env.DB);
      await world.sweep();
      // Two requests expired, which adds two entries. Retention is not overdue yet.
      expect((await stored()).length).toBe(60_004);
      await world.clean();
      const left = (await stored()).length;
      expect([left > 0, left < 60_000]).toEqual([true, true]);
      expect(await checkErasure(env.DB)).toEqual([]);
      expect((await other.account.log()).map(({ sequence }) => sequence)).toEqual([2]);
      for (let minute = 1; minute <= 5; minute++) {
        world.advance(MINUTE);
        await sealLogs(env.DB);
        await world.sweep();
      }
      expect(await stored()).toEqual([60_002, 2]);
      expect(await checkErasure(env.DB)).toEqual([]);
    },
    60_000,
  );
});
