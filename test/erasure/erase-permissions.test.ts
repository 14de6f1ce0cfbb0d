import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { checkErasure } from '../support/erasure';
import { CONTENTS } from '../support/life';
import { sealLogs } from '../support/seal';
import { countRows, emptyTables } from '../support/tables';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

const DAY = 86_400_000;
const WEEK = 604_800;

beforeEach(() => emptyTables(env.DB));

interface Scene {
  world: World;
  account: TestAccount;
  agent: TestAgent;
  /**
   * A token that lives for a week, and was used once on the first day, in an account that keeps
   * entries for one day.
   */
  permission: Json;
}

/** Makes the account beside one that keeps its entries for a year. */
async function makeScene(): Promise<Scene> {
  const world = new World();
  const other = await (await world.account({ plan: 'team' })).agent();
  await useOnce(other, await other.approved({ token_ttl: WEEK, max_uses: 3 }));
  const account = await world.account({ plan: 'enterprise', audit_retention_days: 1 });
  const agent = await account.agent();
  const permission = await agent.approved({
    token_ttl: WEEK,
    max_uses: 3,
    preview: CONTENTS.preview,
  });
  await useOnce(agent, permission);
  return { world, account, agent, permission };
}

function useOnce(agent: TestAgent, { token }: Json) {
  return agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
}

async function runTasks(world: World): Promise<void> {
  await sealLogs(env.DB);
  await world.clean();
  await world.sweep();
  expect(await checkErasure(env.DB, world.now)).toEqual([]);
}

/** The rows of the account under test; the other account has one permission. */
async function permissionsLeft(): Promise<number> {
  return ((await countRows(env.DB)).permissions ?? 0) - 1;
}

describe('a permission whose token outlives its last entry', () => {
  it('is there until the token ends, and then erased with its contents', async () => {
    const { world, account, agent, permission } = await makeScene();
    world.advance(2 * DAY);
    await runTasks(world);
    expect(await account.log()).toEqual([]);
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${permission.id}`);
    expect(body.token).toMatchObject({ status: 'active', uses: 1 });
    world.now = Date.parse(permission.token.expires_at) - 1;
    await runTasks(world);
    expect(await permissionsLeft()).toBe(1);
    world.advance(1);
    await runTasks(world);
    expect(await permissionsLeft()).toBe(0);
    expect((await countRows(env.DB)).permission_contents).toBe(0);
    await account.must(404, 'GET', `/v1/permissions/${permission.id}`);
  });

  it.each([
    ['used again', useOnce],
    [
      'revoked',
      (agent: TestAgent, { token }: Json) =>
        agent.must(200, 'POST', '/v1/tokens/revoke', { token: token.value }),
    ],
  ])('is erased with its new last entry when the token is %s', async (_, act) => {
    const { world, account, agent, permission } = await makeScene();
    world.advance(2 * DAY);
    await runTasks(world);
    // Half a day before the token ends, so that the entry outlives the token.
    world.now = Date.parse(permission.token.expires_at) - DAY / 2;
    await act(agent, permission);
    world.now = Date.parse(permission.token.expires_at);
    await runTasks(world);
    await account.must(200, 'GET', `/v1/permissions/${permission.id}`);
    world.advance(DAY);
    await runTasks(world);
    expect(await permissionsLeft()).toBe(0);
  });
});
