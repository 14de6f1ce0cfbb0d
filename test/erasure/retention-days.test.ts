import { describe, expect, it } from 'vitest';
import { KEPT_DAYS } from '../support/plans';
import { type Json, type TestAccount, World } from '../support/world';

const DAY = 86_400_000;

async function makeAgent(fields: Json = {}) {
  const account = await new World().account(fields);
  return { world: account.world, account, agent: await account.agent() };
}

async function sequences(account: TestAccount, query: string): Promise<number[]> {
  const { body } = await account.must(200, 'GET', `/v1/audit?${query}`);
  return body.data.map(({ sequence }: Json) => sequence);
}

describe('retention', () => {
  it.each(KEPT_DAYS)(
    'of an account with %j shows an entry for %d days, to the millisecond',
    async (fields, days) => {
      const { world, account, agent } = await makeAgent(fields);
      await agent.request();
      const [{ id }] = await account.log();
      world.advance(days * DAY);
      const filters = [
        '',
        'order=asc&after_sequence=0',
        `agent_id=${agent.id}`,
        'start_date=2020-01-01',
      ];
      for (const filter of filters) expect(await sequences(account, filter)).toEqual([1]);
      await account.must(200, 'GET', `/v1/audit/${id}`);
      world.advance(1);
      for (const filter of filters) expect(await sequences(account, filter)).toEqual([]);
      await account.must(404, 'GET', `/v1/audit/${id}`);
    },
  );

  it('changes immediately with the plan', async () => {
    const { world, account, agent } = await makeAgent({ plan: 'pro' });
    await agent.request();
    world.advance(8 * DAY);
    const change = (body: Json) =>
      world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
        token: world.env.ADMIN_TOKEN ?? '',
        body,
      });
    expect(await sequences(account, '')).toEqual([1]);
    await change({ plan: 'free' });
    expect(await sequences(account, '')).toEqual([]);
    await change({ plan: 'enterprise', audit_retention_days: 8 });
    expect(await sequences(account, '')).toEqual([1]);
  });
});
