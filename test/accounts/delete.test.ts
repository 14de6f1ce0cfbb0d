import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { WEBHOOK_EVENTS } from '../../src/receivers/webhooks/webhook';
import { addConnection, CONTENTS } from '../support/life';
import { makeMember } from '../support/members';
import { addReview } from '../support/reviews';
import { addSeries } from '../support/series';
import { countSlice } from '../support/statistics';
import { countRows, emptyTables } from '../support/tables';
import { makeWebhook } from '../support/webhooks';
import { type TestAccount, World } from '../support/world';

beforeEach(async () => {
  await emptyTables(env.DB);
  const { objects } = await env.FILES.list();
  await env.FILES.delete(objects.map(({ key }) => key));
});

function deleteAccount({ world, id }: TestAccount) {
  return world.must(202, 'DELETE', `/v1/admin/users/${id}`, { token: world.env.ADMIN_TOKEN ?? '' });
}

/** An account with something in every table. */
async function makeLife(world: World) {
  const account = await world.account({ plan: 'pro' });
  await makeWebhook(account, { events: WEBHOOK_EVENTS });
  const agents = [await account.agent(), await account.agent()];
  for (const agent of agents) {
    const { token } = await agent.approved({ max_uses: 2 });
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    await agent.request(CONTENTS);
    await world.must(201, 'POST', '/v1/agents', {
      token: account.token,
      headers: { 'Idempotency-Key': agent.id },
      body: { name: 'Kept' },
    });
    await account.must(200, 'POST', `/v1/agents/${agent.id}/rotate-key`, { grace_period: 60 });
  }
  await world.deliver();
  const further = await account.limitedToken('account:read');
  const member = await makeMember(account, 'approver');
  if (agents[0]) {
    await addReview(account, agents[0], member);
    await addSeries(account, agents[0], member);
  }
  await world.must(200, 'PUT', '/v1/me/notifications', {
    token: member.token,
    body: { quiet_hours: null },
  });
  const policy = { name: 'Reports', effect: 'approve', actions: ['report.*'], resources: ['*'] };
  await account.must(201, 'POST', '/v1/policies', policy);
  if (agents[0]) await addConnection(agents[0]);
  const range = { start_date: '2026-01-01', end_date: '2026-12-31' };
  const { body: finished } = await account.must(202, 'POST', '/v1/audit/export', range);
  await world.work();
  await account.must(202, 'POST', '/v1/audit/export', range);
  const { body } = await account.must(200, 'GET', `/v1/audit/export/${finished.export_id}`);
  return {
    account,
    agents,
    further,
    download: body.download_url.slice(world.env.PUBLIC_URL?.length),
  };
}

// Tables that only moving accounts use; move.test.ts tests them.
const OF_MOVES = ['move_numbers', 'moved_accounts', 'moved_credentials', 'moves'];

it('every credential of a deleted account is refused immediately', async () => {
  const world = new World();
  const { account, agents, further } = await makeLife(world);
  await deleteAccount(account);
  const credentials = [account.token, further, ...agents.map(({ key }) => key)];
  for (const token of credentials) {
    const answer = await world.call('GET', '/v1/permissions', { token });
    expect([answer.status, answer.body.code]).toEqual([401, 'unauthorized']);
  }
});

it('the operator does not find a deleted account', async () => {
  const world = new World();
  const account = await world.account({ email: 'gone@example.com' });
  await deleteAccount(account);
  const token = world.env.ADMIN_TOKEN ?? '';
  await world.must(404, 'GET', `/v1/admin/users/${account.id}`, { token });
  await world.must(404, 'PATCH', `/v1/admin/users/${account.id}`, { token, body: { name: 'x' } });
  await world.must(404, 'POST', `/v1/admin/users/${account.id}/tokens`, { token });
  await world.must(404, 'DELETE', `/v1/admin/users/${account.id}`, { token });
  const { body } = await world.must(200, 'GET', '/v1/admin/users?email=gone@example.com', {
    token,
  });
  expect(body.data).toEqual([]);
});

/**
 * A message that waits, and a Slack user who is linked: rows that take a channel and time to make.
 */
async function addRowsOfChannels(): Promise<void> {
  await env.DB.batch([
    env.DB.prepare(`
      insert into held_messages select account, number, randomblob(16), randomblob(16), 6, 0, 9e15 from receivers order by number desc limit 1`),
    env.DB.prepare(
      "insert into slack_links select account, number, 'T1', 'U1', randomblob(16), 0 from receivers order by number desc limit 1",
    ),
  ]);
}

it('the sweep erases every row and every file of a deleted account', async () => {
  const world = new World();
  const before = await countRows(env.DB);
  const { account, download } = await makeLife(world);
  await world.must(200, 'GET', download);
  await addRowsOfChannels();
  await countSlice(world);
  const lived = await countRows(env.DB);
  const untouched = Object.keys(lived).filter((table) => lived[table] === before[table]);
  // Accounts with an identity provider are tested in oidc.test.ts.
  expect(untouched.toSorted()).toEqual([
    'erased_entries',
    'erasures',
    'guards',
    'identities',
    ...OF_MOVES,
    'provider_keys',
    'send_counts',
    'sign_in_challenges',
    // Tested in channels/slack/link.deep.test.ts.
  ]);
  expect((await env.FILES.list({ prefix: 'files/' })).objects).toHaveLength(1);
  await deleteAccount(account);
  await world.must(404, 'GET', download);
  await world.sweep();
  // After this time no worker can still be sealing its log.
  world.advance(20 * 60_000);
  await world.sweep();
  expect(await countRows(env.DB)).toEqual(before);
  expect((await env.FILES.list()).objects).toEqual([]);
});

it('deleting an account erases no data of another account', async () => {
  const world = new World();
  const { account } = await makeLife(world);
  const other = await makeLife(world);
  const log = await other.account.log();
  const { text: file } = await world.must(200, 'GET', other.download);
  const { text } = await other.account.must(200, 'GET', '/v1/permissions');
  await deleteAccount(account);
  await world.sweep();
  expect(await other.account.log()).toEqual(log);
  expect((await other.account.must(200, 'GET', '/v1/permissions')).text).toBe(text);
  expect((await world.must(200, 'GET', other.download)).text).toBe(file);
  await world.must(200, 'GET', '/v1/me', { token: other.further });
});

it('nothing remains of a deleted account whose requests, tokens and keys become due afterwards', async () => {
  const world = new World();
  const before = await countRows(env.DB);
  const { account } = await makeLife(world);
  await deleteAccount(account);
  world.advance(24 * 3_600_000);
  await world.sweep();
  await world.sweep();
  expect(await countRows(env.DB)).toEqual(before);
});

it('the sweep erases all activity records of a deleted account, even if one slice cannot hold them', async () => {
  const world = new World();
  const before = await countRows(env.DB);
  const { account } = await makeLife(world);
  await env.DB.prepare(
    `insert into activity select account, randomblob(16), actor, action, target, changes, ip_address, user_agent, created_at
     from (select * from activity order by account desc limit 1), (with recursive n(value) as (select 1 union all
     select value + 1 from n where value < 1200) select value from n)`,
  ).run();
  await deleteAccount(account);
  await world.sweep();
  // After this time no worker can still be sealing its log.
  world.advance(20 * 60_000);
  await world.sweep();
  expect(await countRows(env.DB)).toEqual(before);
});
