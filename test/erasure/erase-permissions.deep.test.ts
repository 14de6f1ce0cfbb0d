import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { Cost, Database } from '../../src/db/database';
import { erasePermissions } from '../../src/erasure/erase-permissions';
import { type Id, idBytes } from '../../src/lib/typeid';
import { checkErasure } from '../support/erasure';
import { CONTENTS } from '../support/life';
import { sealLogs } from '../support/seal';
import { countRows, emptyTables } from '../support/tables';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const WEEK = 604_800;

beforeEach(() => emptyTables(env.DB));

/** Permissions by their state. The first three outlive their entries. */
type History = Record<
  | 'pending'
  | 'unused'
  | 'used in part'
  | 'denied'
  | 'used up'
  | 'revoked'
  | 'expired'
  | 'expired unused',
  Json
>;

const OUTLIVING = ['pending', 'unused', 'used in part'] as const;

/** Makes a permission of each state. Those that outlive their entries end after a week. */
async function makeHistory(agent: TestAgent): Promise<History> {
  const week = { expires_in: WEEK, token_ttl: WEEK, max_uses: 3 };
  const pending = await agent.request({ ...week, preview: CONTENTS.preview });
  const unused = await agent.approved(week);
  const usedInPart = await agent.approved({ ...week, preview: CONTENTS.preview });
  await useOnce(agent, usedInPart);
  const denied = await agent.request(week);
  await agent.account.must(200, 'POST', `/v1/permissions/${denied.id}/deny`);
  const usedUp = await agent.approved({ ...week, max_uses: 1 });
  await useOnce(agent, usedUp);
  const revoked = await agent.approved(week);
  await revoke(agent, revoked);
  return {
    ...{ pending, unused, 'used in part': usedInPart, denied, 'used up': usedUp, revoked },
    expired: await agent.request({ ...week, expires_in: 60 }),
    'expired unused': await agent.approved({ ...week, token_ttl: 60 }),
  };
}

function useOnce(agent: TestAgent, { token }: Json) {
  return agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
}

function revoke(agent: TestAgent, { token }: Json) {
  return agent.must(200, 'POST', '/v1/tokens/revoke', { token: token.value });
}

function deny(agent: TestAgent, { id }: Json) {
  return agent.account.must(200, 'POST', `/v1/permissions/${id}/deny`);
}

async function runTasks(world: World): Promise<void> {
  await sealLogs(env.DB);
  await world.clean();
  await world.sweep();
  expect(await checkErasure(env.DB, world.now)).toEqual([]);
}

interface Scene {
  world: World;
  account: TestAccount;
  /** An agent of the account, and the end of its requests and tokens. */
  agent: TestAgent;
  history: History;
  end: number;
  /** Another agent of the account. Its requests and tokens end six hours later. */
  other: TestAgent;
  otherHistory: History;
}

/**
 * Makes an account that keeps entries for one day, and whose entries retention has erased. Another
 * account has the same permissions, and keeps its entries.
 */
async function makeScene(): Promise<Scene> {
  const world = new World();
  const neighbour = await world.account({ plan: 'team' });
  await makeHistory(await neighbour.agent());
  const account = await world.account({ plan: 'enterprise', audit_retention_days: 1 });
  const [agent, other] = [await account.agent(), await account.agent()];
  const end = world.now + 7 * DAY;
  const history = await makeHistory(agent);
  world.advance(6 * HOUR);
  const otherHistory = await makeHistory(other);
  world.advance(HOUR);
  await runTasks(world);
  world.advance(2 * DAY);
  await runTasks(world);
  expect(await account.log()).toEqual([]);
  return { world, account, agent, history, end, other, otherHistory };
}

/** The states of the permissions of a history that are stored, and when they are to be erased. */
async function readStored(history: History): Promise<[state: string, eraseAt: number | null][]> {
  const stored: [string, number | null][] = [];
  for (const [state, { id }] of Object.entries<Json>(history)) {
    const row = await env.DB.prepare('select erase_at from permissions where id = ?')
      .bind(idBytes(id as Id<'perm'>))
      .first<{ erase_at: number | null }>();
    if (row) stored.push([state, row.erase_at]);
  }
  return stored;
}

async function statesLeft(history: History): Promise<string[]> {
  return (await readStored(history)).map(([state]) => state);
}

/** The rows that the neighbour has for good: its permissions, and the contents of two of them. */
async function expectOnlyNeighbour(): Promise<void> {
  const { permissions, permission_contents, erasures } = await countRows(env.DB);
  expect({ permissions, permission_contents, erasures }).toEqual({
    ...{ permissions: 8, permission_contents: 2, erasures: 0 },
  });
}

describe('retention', () => {
  it('marks the permissions that outlive their last entry with their end, and erases the others', async () => {
    const { history, end, otherHistory } = await makeScene();
    expect(await readStored(history)).toEqual(OUTLIVING.map((state) => [state, end]));
    const otherEnd = end + 6 * HOUR;
    expect(await readStored(otherHistory)).toEqual(OUTLIVING.map((state) => [state, otherEnd]));
    const { results } = await env.DB.prepare(
      'select distinct account from permissions where erase_at is not null',
    ).all();
    expect(results).toHaveLength(1);
  });

  it('marks a permission once more when its new entry is erased as well', async () => {
    const { world, account, agent, history, end } = await makeScene();
    await account.must(200, 'POST', `/v1/permissions/${history.pending.id}/approve`);
    world.advance(DAY + 1);
    await runTasks(world);
    const decidedAt = world.now - DAY - 1;
    expect(await readStored(history)).toEqual([
      ['pending', decidedAt + 7 * DAY],
      ['unused', end],
      ['used in part', end],
    ]);
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${history.pending.id}`);
    world.now = end;
    await runTasks(world);
    await useOnce(agent, body);
  });
});

describe('a permission that outlives its last entry', () => {
  it('is there until it ends, and is then erased with its contents', async () => {
    const { world, account, agent, history, end, otherHistory } = await makeScene();
    for (const state of OUTLIVING)
      await agent.must(200, 'GET', `/v1/permissions/${history[state].id}`);
    world.now = end - 1;
    await runTasks(world);
    expect(await statesLeft(history)).toEqual([...OUTLIVING]);
    world.advance(1);
    await runTasks(world);
    // The other two have an `expire` entry now, with which they are erased.
    expect(await statesLeft(history)).toEqual(['pending', 'unused']);
    expect(await statesLeft(otherHistory)).toEqual([...OUTLIVING]);
    expect((await account.log()).map(({ event_type }) => event_type)).toEqual(['expire', 'expire']);
    world.advance(DAY);
    await runTasks(world);
    expect(await statesLeft(history)).toEqual(['pending', 'unused']);
    world.advance(1);
    await runTasks(world);
    expect(await statesLeft(history)).toEqual([]);
    world.advance(DAY);
    await runTasks(world);
    await expectOnlyNeighbour();
  });

  it('is not erased before the entry of its expiry is written', async () => {
    const { world, history, end } = await makeScene();
    const database = new Database(env.DB, new Cost());
    for (const now of [end, end + 1, end + 6 * HOUR])
      expect(await erasePermissions(database, now)).toBe(false);
    const nextLook = end + 7 * HOUR;
    expect(await readStored(history)).toEqual([
      ['pending', nextLook],
      ['unused', nextLook],
    ]);
    world.now = nextLook;
    await runTasks(world);
    expect(await statesLeft(history)).toEqual(['pending', 'unused']);
    world.advance(DAY + 1);
    await runTasks(world);
    await expectOnlyNeighbour();
  });

  it.each([
    ['pending', 'denied', deny],
    ['unused', 'used', useOnce],
    ['unused', 'revoked', revoke],
    ['used in part', 'used again', useOnce],
    ['used in part', 'revoked', revoke],
  ] as const)(
    'and is %s is erased with its new last entry when it is %s',
    async (state, _, act) => {
      const { world, agent, history, end } = await makeScene();
      // Half a day before the end, so that the entry outlives the request or token.
      world.now = end - DAY / 2;
      await act(agent, history[state]);
      world.now = end + DAY / 2;
      await runTasks(world);
      await agent.must(200, 'GET', `/v1/permissions/${history[state].id}`);
      world.advance(1);
      await runTasks(world);
      expect(await statesLeft(history)).not.toContain(state);
    },
  );
});

function deleteAgent({ account, id }: TestAgent) {
  return account.must(204, 'DELETE', `/v1/agents/${id}`);
}

describe('the permissions of a deleted agent', () => {
  it('are erased if they have outlived their entries, and those of others are not', async () => {
    const { world, account, agent, history, other, otherHistory } = await makeScene();
    await deleteAgent(agent);
    await runTasks(world);
    expect(await statesLeft(history)).toEqual([]);
    expect((await countRows(env.DB)).erasures).toBe(0);
    expect(await statesLeft(otherHistory)).toEqual([...OUTLIVING]);
    await useOnce(other, otherHistory.unused);
    await useOnce(other, otherHistory['used in part']);
    await deny(other, otherHistory.pending);
    expect(await account.log()).toHaveLength(3);
  });

  it('are erased with their entries, whatever their states', async () => {
    const world = new World();
    const neighbour = await world.account({ plan: 'team' });
    await makeHistory(await neighbour.agent());
    const [agent, other] = [await neighbour.agent(), await neighbour.agent()];
    const [history, otherHistory] = [await makeHistory(agent), await makeHistory(other)];
    await deleteAgent(agent);
    await runTasks(world);
    expect(await statesLeft(history)).toEqual([]);
    expect(await statesLeft(otherHistory)).toEqual(Object.keys(otherHistory));
    await deleteAgent(other);
    await runTasks(world);
    await expectOnlyNeighbour();
  });

  it('are erased if they have new entries after they had outlived the old ones', async () => {
    const { world, agent, history, other, otherHistory } = await makeScene();
    await deny(agent, history.pending);
    await useOnce(agent, history.unused);
    await revoke(agent, history['used in part']);
    await useOnce(other, otherHistory.unused);
    await deleteAgent(agent);
    await runTasks(world);
    expect(await statesLeft(history)).toEqual([]);
    expect(await statesLeft(otherHistory)).toEqual([...OUTLIVING]);
    await deleteAgent(other);
    await runTasks(world);
    await expectOnlyNeighbour();
  });

  it('are erased if retention erases their last entries after the deletion', async () => {
    const world = new World();
    const neighbour = await world.account({ plan: 'team' });
    await makeHistory(await neighbour.agent());
    const account = await world.account({ plan: 'enterprise', audit_retention_days: 1 });
    const [agent, other] = [await account.agent(), await account.agent()];
    const [history, otherHistory] = [await makeHistory(agent), await makeHistory(other)];
    await sealLogs(env.DB);
    await deleteAgent(agent);
    world.advance(DAY + 1);
    await world.clean();
    expect(await statesLeft(history)).toEqual([...OUTLIVING, 'expired', 'expired unused']);
    await runTasks(world);
    expect(await statesLeft(history)).toEqual([]);
    expect(await statesLeft(otherHistory)).toContain('pending');
    expect((await countRows(env.DB)).erasures).toBe(0);
    await deleteAgent(other);
    await runTasks(world);
    await expectOnlyNeighbour();
  });
});

describe('the permissions of a deleted account', () => {
  function deleteAccount({ world, id }: TestAccount) {
    const token = env.ADMIN_TOKEN ?? '';
    return world.must(202, 'DELETE', `/v1/admin/users/${id}`, { token });
  }

  it('are erased if they have outlived their entries', async () => {
    const { world, account, agent } = await makeScene();
    await deleteAgent(agent);
    await deleteAccount(account);
    await world.sweep();
    // After this time no worker can still be sealing its log.
    world.advance(HOUR);
    await world.sweep();
    await expectOnlyNeighbour();
  });

  it('are erased even if the account has no log, as an abandoned copy', async () => {
    const world = new World();
    const neighbour = await world.account({ plan: 'team' });
    const [account, agents] = [await world.account(), [await neighbour.agent()]];
    agents.push(await account.agent(), await account.agent());
    for (const agent of agents) await makeHistory(agent);
    await env.DB.prepare(
      'delete from audit_entries where pos / 4294967296 = (select max(number) from accounts)',
    ).run();
    await deleteAccount(account);
    await world.sweep();
    // After this time no worker can still be sealing its log.
    world.advance(HOUR);
    await world.sweep();
    await expectOnlyNeighbour();
  });
});
