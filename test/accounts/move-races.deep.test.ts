import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { COPIED_WHILE_IN_USE } from '../../src/accounts/move/moved-tables';
import { Mover } from '../../src/accounts/move/mover';
import type { MoverShard } from '../../src/accounts/move/shard';
import { Cost, Database } from '../../src/db/database';
import { PERMISSION_EVENTS } from '../../src/db/schema';
import { eraseAccounts } from '../../src/erasure/erase-accounts';
import { openErasure } from '../support/agent-erasure';
import { FaultyDatabase } from '../support/faults';
import {
  dumpAccount,
  eraseRest,
  isMoving,
  orderHeldMove,
  orderMove,
  settleMoves,
} from '../support/moves';
import { DATABASES } from '../support/shards';
import { emptyTables } from '../support/tables';
import { makeWebhook } from '../support/webhooks';
import { makeAgent, World } from '../support/world';

const DAY = 86_400_000;

beforeEach(async () => {
  for (const database of Object.values(DATABASES)) {
    await database.exec('delete from moves');
    await emptyTables(database);
  }
});

function makeMover(from = '00', clients: Record<string, D1Database> = DATABASES): Mover {
  const shards = ['00', '01'].map((name) => ({
    name,
    database: new Database(clients[name] as D1Database, new Cost()),
  }));
  return new Mover(shards.find(({ name }) => name === from) as MoverShard, shards);
}

/** Moves on until the first tables are copied. */
async function copyFirstTables(mover: Mover, now: number): Promise<void> {
  const step = () => env.DB_01.prepare('select step from moves').first<number>('step');
  while ((await step()) !== COPIED_WHILE_IN_USE.length) await mover.moveSlice(now);
}

it('events of a permission older than nine days survive a use of its token during a move', async () => {
  const { world, account, agent } = await makeAgent(new World(), { plan: 'pro' });
  await makeWebhook(account, { events: PERMISSION_EVENTS });
  const { id } = await agent.request({ expires_in: 604_800, token_ttl: 604_800, max_uses: 5 });
  world.advance(6 * DAY);
  await world.sweep();
  await world.deliver();
  await account.must(200, 'POST', `/v1/permissions/${id}/approve`, {});
  await world.sweep();
  await world.deliver();
  world.advance(4 * DAY);
  await world.sweep();
  await world.deliver();
  const token = (await agent.must(200, 'GET', `/v1/permissions/${id}`)).body.token.value;
  Object.assign(world.env, { DB_01: env.DB_01 });
  await orderMove(world, account.id, '01');
  const mover = makeMover();
  await copyFirstTables(mover, world.now);
  await agent.must(200, 'POST', '/v1/tokens/use', { token });
  const before = await dumpAccount(env.DB, account.id);
  while (await isMoving()) await mover.moveSlice(world.now);
  const after = await dumpAccount(env.DB_01, account.id);
  expect(before?.permission_events?.length).toBeGreaterThan(0);
  expect(after).toEqual(before);
});

it('an unused token that expires during a move takes no events of its permission along', async () => {
  const { world, account, agent } = await makeAgent(new World(), { plan: 'pro' });
  const hook = await makeWebhook(account, { events: PERMISSION_EVENTS });
  world.internet.on(hook.host, async () => new Response(null, { status: 500 }));
  const { id } = await agent.request({ expires_in: 604_800, token_ttl: 604_800, max_uses: 5 });
  world.advance(6.9 * DAY);
  await account.must(200, 'POST', `/v1/permissions/${id}/approve`, { token_ttl: 604_800 });
  for (let n = 0; n < 4; n++) {
    await world.sweep();
    await world.deliver();
    world.advance(60_000);
  }
  world.advance(7 * DAY - 300_000);
  await orderMove(world, account.id, '01');
  const mover = makeMover();
  await copyFirstTables(mover, world.now);
  world.advance(600_000);
  await world.sweep();
  const before = await dumpAccount(env.DB, account.id);
  while (await isMoving()) await mover.moveSlice(world.now);
  const after = await dumpAccount(env.DB_01, account.id);
  expect(before?.permission_events?.length).toBe(2);
  expect(after?.permission_events).toEqual(before?.permission_events);
});

it('a stalled mover of a canceled move does not finish the next one', async () => {
  const { world, account, agent } = await makeAgent();
  await agent.approved();
  const first = new FaultyDatabase(env.DB);
  await orderMove(world, account.id, '01');
  const stalled = makeMover('00', { ...DATABASES, '00': first.binding });
  const expected = await dumpAccount(env.DB, account.id);
  first.before(
    1,
    async () => {
      await env.DB.exec('delete from moves'); // the operator cancels
      await makeMover('01').eraseAbandonedCopies(); // the next sweeps
      await eraseRest(env.DB_01, world.now);
      world.advance(60_000);
      await orderMove(world, account.id, '01'); // and orders the move again
      const rival = makeMover();
      for (;;) {
        await rival.moveSlice(world.now);
        if ((await env.DB.prepare('select held_at from moves').first('held_at')) !== null) break;
      }
      // The new copy is not complete.
      if ((await dumpAccount(env.DB_01, account.id)) !== null) throw new Error('complete');
    },
    /insert into "moved_accounts"/,
  );
  for (let n = 0; n < 60 && (await isMoving()); n++) await stalled.moveSlice(world.now);
  for (let n = 0; n < 60 && (await isMoving()); n++) await makeMover().moveSlice(world.now);
  expect(await dumpAccount(env.DB_01, account.id)).toEqual(expected);
});

/**
 * An account whose agent asks with an idempotency key, two hours ago. The agent has a long history,
 * so that the erasure of it takes several slices.
 */
async function makeAsking() {
  const { world, account, agent } = await makeAgent();
  Object.assign(world.env, { DB_01: env.DB_01 });
  await env.DB.prepare(`insert into agent_statistics
    with recursive n(v) as (select 1 union all select v + 1 from n where v < 1000)
    select agents.number, 1, v, 1, 0, 0, 0, 0, 0, 0, 0 from n, agents where account > 0 and name = 'Mailer'`).run();
  const ask = () =>
    world.must(201, 'POST', '/v1/permissions', {
      token: agent.key,
      headers: { 'Idempotency-Key': 'once' },
      body: { action: 'email.send', resource: 'mailbox:support' },
    });
  const { body: made } = await ask();
  world.advance(2 * 3_600_000);
  return { world, account, ask, made };
}

it('idempotency keys survive a move there and back at once', async () => {
  const { world, account, ask, made } = await makeAsking();
  await orderMove(world, account.id, '01');
  while (await isMoving()) await makeMover().moveSlice(world.now);
  // One slice of each task on the old shard, as in the next sweep.
  await eraseAccounts(new Database(env.DB, new Cost()), world.now);
  await openErasure(env.DB, 'oldest', world.now).eraseSlice();
  await orderMove(world, account.id, '00', env.DB_01);
  await settleMoves(world);
  const again = await ask();
  expect([again.headers.get('Idempotent-Replayed'), again.body.id]).toEqual(['true', made.id]);
});

it('idempotency keys survive a canceled move that is ordered again', async () => {
  const { world, account, ask, made } = await makeAsking();
  await orderMove(world, account.id, '01');
  const copied = `select 1 from agents where account in (select account from moves)`;
  while ((await env.DB_01.prepare(copied).first()) === null) await makeMover().moveSlice(world.now);
  expect(await isMoving()).toBe(true);
  await env.DB.exec('delete from moves');
  await makeMover('01').eraseAbandonedCopies();
  await eraseAccounts(new Database(env.DB_01, new Cost()), world.now);
  await openErasure(env.DB_01, 'oldest', world.now).eraseSlice();
  world.advance(60_000);
  await orderMove(world, account.id, '01');
  await settleMoves(world);
  const again = await ask();
  expect([again.headers.get('Idempotent-Replayed'), again.body.id]).toEqual(['true', made.id]);
});

it('an account with an empty log moves there and back while another account is erased', async () => {
  const world = new World();
  const account = await world.account();
  Object.assign(world.env, { DB_01: env.DB_01 });
  // A deleted account with a long history is being erased on the old shard.
  await env.DB.prepare(`insert into activity
    with recursive n(v) as (select 1 union all select v + 1 from n where v < 60000)
    select 999999, randomblob(16), null, 0, '', '[]', '', '', 0 from n`).run();
  await env.DB.prepare(
    'insert into erasures (kind, account, number) values (1, 999999, 999999)',
  ).run();
  await orderMove(world, account.id, '01');
  for (let n = 0; n < 5 && (await isMoving()); n++) {
    world.advance(60_000);
    await world.sweep();
  }
  expect(await isMoving()).toBe(false);
  await orderMove(world, account.id, '00', env.DB_01);
  const statuses: number[] = [];
  for (let n = 0; n < 9; n++) {
    world.advance(60_000);
    await world.sweep();
    statuses.push((await account.call('POST', '/v1/agents', { name: `n${n}` })).status);
  }
  expect(statuses).toEqual(Array(9).fill(201));
});

it('a clock of the operator that is two hours fast loses nothing', async () => {
  const { world, account, agent } = await makeAgent();
  await makeWebhook(account);
  await agent.approved();
  await orderMove(world, account.id, '01');
  await env.DB.prepare('update moves set created_at = created_at + 7200000').run();
  const mover = makeMover();
  await copyFirstTables(mover, world.now);
  await account.must(201, 'POST', '/v1/policies', {
    name: 'Late',
    effect: 'deny',
    actions: ['x.y'],
    resources: ['*'],
  });
  const before = await dumpAccount(env.DB, account.id);
  while (await isMoving()) await mover.moveSlice(world.now);
  expect(await dumpAccount(env.DB_01, account.id)).toEqual(before);
});

it('a deletion that is refused because the account is held breaks no credential', async () => {
  const world = new World({ DB_01: env.DB_01, DB_02: env.DB_02 });
  const account = await world.account();
  const agent = await account.agent();
  const from = account.token.slice(4, 6);
  const others = ['00', '01', '02'].filter((name) => name !== from);
  await orderMove(world, account.id, others[0] as string, DATABASES[from]);
  await settleMoves(world);
  await agent.request();
  const home = DATABASES[others[0] as string] as D1Database;
  await orderHeldMove(world, account.id, others[1] as string, home);
  const { status } = await world.call('DELETE', `/v1/admin/users/${account.id}`, {
    token: env.ADMIN_TOKEN,
  });
  expect(status).toBe(503);
  await home.exec('delete from moves');
  expect((await account.call('GET', '/v1/me')).status).toBe(200);
  expect((await agent.call('GET', '/v1/permissions')).status).toBe(200);
});

it('a request that expires three days late is counted on the new shard', async () => {
  const { world, account, agent } = await makeAgent();
  await makeWebhook(account, { events: PERMISSION_EVENTS });
  await agent.request({ expires_in: 604_800 });
  world.advance(10 * DAY); // no cron ran meanwhile
  await orderMove(world, account.id, '01');
  const mover = makeMover();
  await copyFirstTables(mover, world.now);
  await world.sweep();
  await world.deliver();
  const before = await dumpAccount(env.DB, account.id);
  while (await isMoving()) await mover.moveSlice(world.now);
  const after = await dumpAccount(env.DB_01, account.id);
  expect(before?.permission_events?.length).toBe(2);
  expect(after?.agent_statistics).toEqual(before?.agent_statistics);
  expect(after).toEqual(before);
});

it('the old shard works for others once the account has left, while the new shard cannot release it', async () => {
  const second = new FaultyDatabase(env.DB_01);
  const world = new World();
  const account = await world.account();
  await (await account.agent()).approved();
  const other = await world.account({ email: 'other@example.com' });
  const neighbour = await other.agent();
  Object.assign(world.env, { DB_01: second.binding });
  await orderMove(world, account.id, '01');
  second.refuse(/delete from "?moved_credentials/);
  world.advance(60_000);
  await world.sweep();
  expect(await env.DB.prepare('select has_left from moves').first('has_left')).toBe(1);
  await neighbour.request({ expires_in: 60 });
  for (let n = 0; n < 10; n++) {
    world.advance(60_000);
    await world.sweep();
    await world.clean();
  }
  const log = (await other.log()).map(({ event_type }) => event_type);
  const sealed = (await other.must(200, 'GET', '/v1/audit/checkpoint')).body.tree_size;
  second.refuse(null);
  await settleMoves(world);
  expect([log, sealed]).toEqual([['request', 'expire'], 2]);
});

it('the old shard works for others while the new shard answers nothing', async () => {
  const second = new FaultyDatabase(env.DB_01);
  const world = new World();
  const account = await world.account();
  await (await account.agent()).approved();
  const other = await world.account({ email: 'other@example.com' });
  const neighbour = await other.agent();
  Object.assign(world.env, { DB_01: second.binding });
  await orderMove(world, account.id, '01');
  second.refuse(/insert into "?trees/);
  world.advance(60_000);
  await world.sweep();
  expect(await env.DB.prepare('select held_at from moves').first('held_at')).not.toBe(null);
  second.refuse(/./);
  await neighbour.request({ expires_in: 60 });
  for (let n = 0; n < 10; n++) {
    world.advance(60_000);
    await world.sweep();
    await world.clean();
  }
  expect((await other.log()).map(({ event_type }) => event_type)).toEqual(['request', 'expire']);
  expect((await account.call('POST', '/v1/agents', { name: 'x' })).status).toBe(201);
});
