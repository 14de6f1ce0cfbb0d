import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { type Id, idBytes } from '../../../src/lib/typeid';
import { orderMove, settleMoves } from '../../support/moves';
import {
  ACT,
  changeMember,
  endings,
  giveSeries,
  makeSeriesScene,
  SERIES,
  statusOf,
  usageOf,
} from '../../support/series';
import { emptyTables } from '../../support/tables';

describe('a series that somebody changes in the database approves nothing', () => {
  it.each([
    ['another action', "action = 'refund.cancel'", { action: 'refund.cancel' }],
    ['another resource', "resource = 'shop:other'", { resource: 'shop:other' }],
    [
      'a wider scope',
      `scope = '{"max_amount":900,"currency":"EUR"}'`,
      { scope: { max_amount: 900, currency: 'EUR' } },
    ],
    ['more keys that vary', `varies = '["max_amount","currency"]'`, {}],
    ['more requests', 'requests = 1000', {}],
    ['a longer life of tokens', 'token_ttl = 604800', {}],
    ['a longer life', 'live_until = live_until + 1000, expires_at = expires_at + 1000', {}],
    ['nobody who gave it', "given_by = '[]'", {}],
    ['another MAC', 'mac = randomblob(32)', {}],
  ])('%s', async (_, change, act) => {
    const scene = await makeSeriesScene();
    await giveSeries(scene);
    expect(await statusOf(scene.agent)).toBe('approved');
    await env.DB.prepare(`update series set ${change}`).run();
    expect(await statusOf(scene.agent, act)).toBe('pending');
  });

  it('another agent, or another giver', async () => {
    const scene = await makeSeriesScene();
    const { account, agent, owners } = scene;
    const other = await account.agent();
    await giveSeries(scene);
    await env.DB.prepare('update series set agent = (select max(number) from agents)').run();
    expect(await statusOf(other)).toBe('pending');
    await env.DB.prepare('update series set agent = agent - 1').run();
    expect(await statusOf(agent)).toBe('approved');
    const member = idBytes((owners[0]?.id ?? '') as Id<'member'>).toHex();
    await env.DB.prepare(
      `update series set given_by = json_array(json_array(?1, (
         select active_since from members where id = unhex(?1))))`,
    )
      .bind(member.toUpperCase())
      .run();
    expect(await statusOf(agent)).toBe('pending');
  });
});

it('a series moves with its account, and goes on there', async () => {
  for (const database of [env.DB, env.DB_01]) await emptyTables(database);
  const scene = await makeSeriesScene();
  const { world, account, agent, ada } = scene;
  Object.assign(world.env, { DB_01: env.DB_01 });
  const first = await giveSeries(scene, { ...SERIES, requests: 5 });
  const other = await giveSeries(scene, SERIES, { resource: 'shop:other' });
  expect(await statusOf(agent)).toBe('approved');
  const before = await usageOf(scene, first.id);
  await orderMove(world, account.id, '01');
  await settleMoves(world);
  expect(await usageOf(scene, first.id)).toEqual(before);
  expect(await env.DB.prepare('select count(*) as n from series').first('n')).toBe(0);
  const statuses = [];
  for (let n = 0; n < 4; n++) statuses.push(await statusOf(agent));
  expect(statuses).toEqual(['approved', 'approved', 'approved', 'pending']);
  expect(await statusOf(agent, { resource: 'shop:other' })).toBe('approved');
  await changeMember(account, ada, { status: 'suspended' });
  expect(await statusOf(agent, { resource: 'shop:other' })).toBe('pending');
  world.advance(60_000);
  await world.sweep();
  expect(await endings(scene)).toEqual([[null, other.id]]);
});

it('a receipt of an approval by a series has what gave it', async () => {
  const scene = await makeSeriesScene();
  const { agent, account, world } = scene;
  const first = await giveSeries(scene);
  const { id } = await agent.request(ACT);
  world.advance(60_000);
  await world.sweep();
  const { body } = await account.must(200, 'GET', `/v1/permissions/${id}/receipt`);
  expect(body).toMatchObject({ permission_id: id, complete: true });
  const leaves = body.entries.map(({ leaf_input }: { leaf_input: string }) => atob(leaf_input));
  expect(leaves).toHaveLength(4);
  expect(leaves.filter((leaf: string) => leaf.includes('granted_series'))).toHaveLength(1);
  expect(leaves[0]).toContain(first.id);
});
