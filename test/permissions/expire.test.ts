import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { depth } from '../support/depth';
import { checkIntegrity } from '../support/integrity';
import { emptyTables } from '../support/tables';
import { type Json, type TestAccount, World } from '../support/world';

beforeEach(() => emptyTables(env.DB));

async function makeAgent() {
  const account = await new World().account();
  return { world: account.world, account, agent: await account.agent() };
}

/** The `expire` entries of the log, each as what expired and the permission's id. */
async function expiries(account: TestAccount): Promise<string[]> {
  const entries = await account.log('&event_type=expire');
  return entries.map(
    ({ permission_request_id, details }) => `${details.expired} ${permission_request_id}`,
  );
}

describe('the sweep', () => {
  it('writes one entry for a request that nobody decided', async () => {
    const { world, account, agent } = await makeAgent();
    const { id } = await agent.request({ expires_in: 60 });
    world.advance(59_999);
    await world.sweep();
    expect(await expiries(account)).toEqual([]);
    world.advance(1);
    expect(await expiries(account)).toEqual([]);
    await world.sweep();
    expect(await expiries(account)).toEqual([`request ${id}`]);
  });

  it('writes one entry for a token that was never used', async () => {
    const { world, account, agent } = await makeAgent();
    const { id } = await agent.approved({ token_ttl: 30 });
    world.advance(29_999);
    await world.sweep();
    expect(await expiries(account)).toEqual([]);
    world.advance(1);
    await world.sweep();
    expect(await expiries(account)).toEqual([`token ${id}`]);
  });

  it('writes no entry twice', async () => {
    const { world, account, agent } = await makeAgent();
    await agent.request();
    await agent.approved();
    world.advance(3_600_000);
    await world.sweep();
    const log = await account.log();
    expect(log).toHaveLength(5);
    for (let i = 0; i < 3; i++) {
      world.advance(60_000);
      await world.sweep();
    }
    expect(await account.log()).toEqual(log);
  });

  it('writes no entry for permissions and tokens that were decided, used or revoked in time', async () => {
    const { world, account, agent } = await makeAgent();
    const denied = await agent.request();
    await account.must(200, 'POST', `/v1/permissions/${denied.id}/deny`);
    const used = await agent.approved();
    await agent.must(200, 'POST', '/v1/tokens/use', { token: used.token.value });
    const revoked = await agent.approved();
    await agent.must(200, 'POST', '/v1/tokens/revoke', { token_id: revoked.token.id });
    world.advance(7 * 86_400_000 - 1);
    await world.sweep();
    expect(await expiries(account)).toEqual([]);
  });

  it('writes no entry for a token with a use left, which has expired nevertheless', async () => {
    const { world, account, agent } = await makeAgent();
    const { id, token } = await agent.approved({ max_uses: 2 });
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    world.advance(900_000);
    for (const sweep of [async () => undefined, () => world.sweep()]) {
      await sweep();
      const { body } = await account.must(200, 'GET', `/v1/permissions/${id}`);
      expect([body.token.status, body.token.uses]).toEqual(['expired', 1]);
      expect(await expiries(account)).toEqual([]);
    }
  });

  it('changes nothing that a reader sees except the update time', async () => {
    const { world, account, agent } = await makeAgent();
    await agent.request();
    await agent.approved();
    world.advance(3_600_000);
    const read = async () =>
      (await account.must(200, 'GET', '/v1/permissions')).body.data.map((permission: Json) => ({
        ...permission,
        updated_at: undefined,
      }));
    const before = await read();
    expect(before.map(({ status, token }: Json) => token?.status ?? status).toSorted()).toEqual([
      'expired',
      'expired',
    ]);
    await world.sweep();
    expect(await read()).toEqual(before);
  });

  it('writes each entry once when two sweeps run concurrently', async () => {
    const { world, account, agent } = await makeAgent();
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => (await agent.request()).id),
    );
    world.advance(3_600_000);
    await Promise.all([world.sweep(), world.sweep()]);
    await world.sweep();
    expect((await expiries(account)).toSorted()).toEqual(
      ids.map((id) => `request ${id}`).toSorted(),
    );
    expect(await checkIntegrity(env.DB)).toEqual([]);
  });

  it.runIf(depth.isDeep)('expires 250 due requests and tokens in one run', async () => {
    const { world, account, agent } = await makeAgent();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      ids.push(
        ...(await Promise.all(
          Array.from({ length: 25 }, async () => `request ${(await agent.request()).id}`),
        )),
      );
      ids.push(
        ...(await Promise.all(
          Array.from({ length: 25 }, async () => `token ${(await agent.approved()).id}`),
        )),
      );
    }
    expect(ids).toHaveLength(250);
    world.advance(3_600_000);
    await world.sweep();
    expect((await expiries(account)).toSorted()).toEqual(ids.toSorted());
    const sequences = (await account.log()).map(({ sequence }) => sequence);
    expect(sequences).toEqual(Array.from({ length: 250 + 125 + 250 }, (_, i) => i + 1));
    expect(await checkIntegrity(env.DB)).toEqual([]);
  });

  it('expires the requests of several accounts in one run', async () => {
    const world = new World();
    const accounts = await Promise.all(Array.from({ length: 4 }, () => world.account()));
    for (const account of accounts) await (await account.agent()).request();
    world.advance(3_600_000);
    await world.sweep();
    for (const account of accounts) {
      expect(
        (await account.log()).map(({ sequence, event_type }) => [sequence, event_type]),
      ).toEqual([
        [1, 'request'],
        [2, 'expire'],
      ]);
    }
  });

  it.runIf(depth.isDeep)(
    'skips due requests of a deleted agent and expires the others',
    async () => {
      const { world, account, agent } = await makeAgent();
      const { id } = await agent.request();
      const gone = await account.agent();
      await Promise.all(Array.from({ length: 110 }, () => gone.request({ expires_in: 60 })));
      await account.must(204, 'DELETE', `/v1/agents/${gone.id}`);
      world.advance(3_600_000);
      await world.sweep();
      expect(await expiries(account)).toEqual([`request ${id}`]);
    },
  );

  it('expires requests and tokens of agents and accounts that are switched off', async () => {
    const { world, account, agent } = await makeAgent();
    const { id } = await agent.request();
    const other = await world.account();
    await (await other.agent()).request();
    const admin = world.env.ADMIN_TOKEN ?? '';
    const switchTo = (is_active: boolean) =>
      world.must(200, 'PATCH', `/v1/admin/users/${other.id}`, {
        token: admin,
        body: { is_active },
      });
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { is_active: false });
    await switchTo(false);
    world.advance(3_600_000);
    await world.sweep();
    await switchTo(true);
    expect(await expiries(account)).toEqual([`request ${id}`]);
    expect(await expiries(other)).toHaveLength(1);
  });
});

it('an approval after the expiry is refused while a concurrent sweep writes the expiry', async () => {
  const { world, account, agent } = await makeAgent();
  const { id } = await agent.request({ expires_in: 60 });
  world.advance(60_000);
  const [approval] = await Promise.all([
    account.call('POST', `/v1/permissions/${id}/approve`),
    world.sweep(),
  ]);
  expect([approval.status, approval.body.code]).toEqual([409, 'not_pending']);
  expect((await account.log()).map(({ event_type }) => event_type)).toEqual(['request', 'expire']);
});
