import { env } from 'cloudflare:test';
import { expect } from 'vitest';
import { FaultyDatabase } from './faults';
import { makeMember, type TestMember } from './members';
import { approve } from './reviews';
import { type Json, type TestAccount, type TestAgent, World } from './world';

/** What the agent asks for. */
export const ACT = {
  action: 'refund.create',
  resource: 'shop:main',
  scope: { max_amount: 200, currency: 'EUR' },
};
/** The series that is asked for and given. */
export const SERIES = { requests: 4, expires_in: 3_600, varies: ['max_amount'] };

export interface SeriesScene {
  /** The account's database, which can be interrupted. */
  database: FaultyDatabase;
  world: World;
  account: TestAccount;
  agent: TestAgent;
  ada: TestMember;
  /** The agent's owner, and another member. */
  owners: TestMember[];
}

/** An account with an approver, and an agent that somebody else owns. */
export async function makeSeriesScene(plan = 'pro'): Promise<SeriesScene> {
  const database = new FaultyDatabase(env.DB);
  const world = new World({ DB: database.binding });
  await (await world.account()).agent();
  const account = await world.account({ plan });
  const ada = await makeMember(account, 'approver');
  const owners = [await makeMember(account, 'developer'), await makeMember(account, 'developer')];
  const agent = await account.agent({ owner_id: owners[0]?.id });
  return { database, world, account, agent, ada, owners };
}

/** A permission whose approval gave a series. */
export async function giveSeries(
  scene: Pick<SeriesScene, 'world' | 'account' | 'agent' | 'ada'>,
  series: Json = SERIES,
  act: Json = {},
): Promise<Json> {
  const { id } = await scene.agent.request({ ...ACT, ...act, series });
  const { status, body } = await approve(scene, scene.ada, id, { series });
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

/** The status of another request of the agent. */
export async function statusOf(agent: TestAgent, act: Json = {}): Promise<string> {
  return (await agent.request({ ...ACT, ...act })).status;
}

/** How far a series is. */
export async function usageOf({ account }: SeriesScene, id: string): Promise<Json> {
  return (await account.must(200, 'GET', `/v1/permissions/${id}`)).body.series_usage;
}

/** Who ended series of an account, and their first permissions. */
export async function endings({ account }: SeriesScene): Promise<[string | null, string][]> {
  const { body } = await account.must(200, 'GET', '/v1/activity?action=series.ended');
  return body.data.map(({ actor, target }: Json) => [actor, target]);
}

/** Changes a member with the account's token. */
export function changeMember(account: TestAccount, member: TestMember, fields: Json) {
  return account.must(200, 'PUT', `/v1/members/${member.id}`, fields);
}

/**
 * Gives a series by a member's approval, and changes the member's role, so that the sweep has to
 * look for what that ended.
 */
export async function addSeries(
  account: TestAccount,
  agent: TestAgent,
  member: TestMember,
): Promise<void> {
  const { id } = await agent.request({ ...ACT, series: SERIES });
  await approve(account, member, id, { series: SERIES });
  await changeMember(account, member, { role: 'admin' });
}
