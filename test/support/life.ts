import { PERMISSION_EVENTS } from '../../src/db/schema';
import { callUpstream, makePayments, UPSTREAM } from './connection-calls';
import { makeMember, type TestMember } from './members';
import { addReview } from './reviews';
import { addSeries } from './series';
import { listDeliveries, makeWebhook, readDelivery, type TestWebhook } from './webhooks';
import type { Json, TestAccount, TestAgent, World } from './world';

const RANGE = { start_date: '2026-01-01', end_date: '2026-12-31' };

/** An account in use. */
export interface Life {
  world: World;
  account: TestAccount;
  agents: TestAgent[];
  tokens: string[];
  webhook: TestWebhook;
  /** A webhook for events of permissions. */
  permissionWebhook: TestWebhook;
  download: string;
  unfinished: string;
  further: string;
  /** A member, and a user token of the member. */
  member: TestMember;
}

/** An account with something in every table, on the first shard. */
export async function makeLife(world: World): Promise<Life> {
  const account = await world.account({ plan: 'pro' });
  const webhook = await makeWebhook(account);
  const permissionWebhook = await makeWebhook(account, { events: PERMISSION_EVENTS });
  const agents = [await account.agent({ name: 'First' }), await account.agent({ name: 'Second' })];
  const tokens: string[] = [];
  for (const agent of agents) {
    const { token } = await agent.approved({ max_uses: 3 });
    tokens.push(token.value);
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    await agent.request(CONTENTS);
    await account.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`, { grace_period: 86_400 });
  }
  await world.must(201, 'POST', '/v1/agents', repeated(account));
  // The history of a deleted agent is erased only after it is sealed.
  const gone = await account.agent();
  await gone.approved();
  await account.must(204, 'DELETE', `/v1/agents/${gone.id}`);
  const policy = { name: 'Reports', effect: 'approve', actions: ['report.*'], resources: ['*'] };
  await account.must(201, 'POST', '/v1/policies', policy);
  const further = await account.limitedToken('account:read');
  const member = await makeMember(account, 'approver');
  if (agents[0]) {
    await addReview(account, agents[0], member);
    await addSeries(account, agents[0], member);
    await addConnection(agents[0]);
  }
  await world.deliver();
  await world.sweep();
  await world.deliver();
  const { body: finished } = await account.must(202, 'POST', '/v1/audit/export', RANGE);
  await world.work();
  await world.deliver();
  const { body } = await account.must(200, 'GET', `/v1/audit/export/${finished.export_id}`);
  const download = body.download_url.slice(world.env.PUBLIC_URL?.length);
  await world.must(200, 'GET', download);
  await agents[0]?.request();
  const { body: unfinished } = await account.must(202, 'POST', '/v1/audit/export', RANGE);
  return {
    ...{ world, account, agents, tokens, webhook, permissionWebhook, further, member },
    download,
    unfinished: unfinished.export_id,
  };
}

/** Adds a connection with a call that a policy for `report.*` approves, and one that is only counted. */
export async function addConnection(agent: TestAgent): Promise<void> {
  const { internet } = agent.account.world;
  internet.on(UPSTREAM, () => Response.json({}));
  const rules = [
    { methods: ['GET'], effect: 'allow' },
    { effect: 'ask', action: 'report.send' },
  ];
  const connection = await makePayments(agent, { rules });
  for (const method of ['GET', 'POST']) {
    const { status } = await callUpstream(agent, connection, { method });
    if (status !== 200) throw new Error(`the call was answered ${status}`);
  }
}

/** What a request shows to the person who decides. */
export const CONTENTS = {
  input: { to: ['é'] },
  preview: { title: 'Reply' },
  external_id: 'call-1',
};

/** A request that creates one agent, however often it is sent. */
export function repeated({ token }: TestAccount) {
  return { token, headers: { 'Idempotency-Key': 'made-once' }, body: { name: 'Kept' } };
}

/** Everything that an account can read of itself, except times of last use and activity. */
export async function readEverything({
  account,
  agents,
  webhook,
  permissionWebhook,
  world,
  download,
}: Life): Promise<Record<string, Json>> {
  const paths = [
    '/v1/me',
    '/v1/me/tokens',
    '/v1/agents',
    '/v1/permissions?limit=100',
    '/v1/policies',
    '/v1/audit?limit=1000&order=asc',
    '/v1/activity?limit=100',
    '/v1/webhooks',
    '/v1/connections',
    `/v1/webhooks/${webhook.id}/deliveries?limit=100`,
    `/v1/webhooks/${permissionWebhook.id}/deliveries?limit=100`,
    '/v1/audit/checkpoint',
    ...agents.flatMap(({ id }) => [`/v1/agents/${id}`, `/v1/agents/${id}/stats?period=7d`]),
  ];
  const read: Record<string, Json> = {};
  for (const path of paths) {
    const { text } = await account.must(200, 'GET', path);
    read[path] = text.replaceAll(/"last_(activity|used)_at":("[^"]*"|null)/g, '');
  }
  for (const { id } of await listDeliveries(account, permissionWebhook)) {
    read[id] = JSON.stringify(await readDelivery(account, permissionWebhook, id));
  }
  for (const { id } of await account.log()) {
    read[id] = (await account.must(200, 'GET', `/v1/audit/${id}`)).text;
  }
  read.file = (await world.must(200, 'GET', download)).text;
  return read;
}
