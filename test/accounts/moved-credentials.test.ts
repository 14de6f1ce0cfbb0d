import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { Mover } from '../../src/accounts/move/mover';
import { Cost, Database } from '../../src/db/database';
import { type Id, idBytes } from '../../src/lib/typeid';
import { FaultyDatabase } from '../support/faults';
import { makeMember } from '../support/members';
import { orderMove, settleMoves } from '../support/moves';
import { DATABASES } from '../support/shards';
import { emptyTables } from '../support/tables';
import { type TestAccount, World } from '../support/world';

// An isolate remembers on which shard it found the credential of a moved account. These tests show
// that it costs one round trip, and that an outdated memory never gives another answer.

beforeEach(async () => {
  for (const database of Object.values(DATABASES)) {
    await database.exec('delete from moves');
    await emptyTables(database);
  }
});

/** Moves an account to a shard from the one where its order is placed. */
async function move(world: World, account: TestAccount, to: string, from: D1Database = env.DB) {
  await orderMove(world, account.id, to, from);
  await settleMoves(world);
  await settleMoves(world);
}

async function statuses(account: TestAccount, times: number): Promise<number[]> {
  const found: number[] = [];
  for (let i = 0; i < times; i++) found.push((await account.call('GET', '/v1/agents')).status);
  return found;
}

async function trips(account: TestAccount, times: number): Promise<number[]> {
  const counted: number[] = [];
  for (let i = 0; i < times; i++)
    counted.push((await account.must(200, 'GET', '/v1/agents')).cost.trips);
  return counted;
}

/** The shards 00 and 01, for a mover that the test drives itself. */
function openShards() {
  return ['00', '01'].map((name) => ({
    name,
    database: new Database(DATABASES[name] as D1Database, new Cost()),
  }));
}

it('an isolate looks once for the shard of a moved account', async () => {
  const world = new World();
  const other = await world.account({ email: 'other@example.com' });
  const account = await world.account();
  Object.assign(world.env, { DB_01: env.DB_01 });
  await move(world, account, '01');
  expect(await trips(account, 3)).toEqual([3, 1, 1]);
  expect(await trips(other, 2)).toEqual([1, 1]);
  world.restart();
  expect(await trips(account, 2)).toEqual([3, 1]);
  await move(world, account, '00', env.DB_01);
  expect(await trips(account, 2)).toEqual([2, 1]);
  expect(await trips(other, 1)).toEqual([1]);
});

it('a page of the console takes no more round trips once the shard is known', async () => {
  const world = new World();
  await world.account({ email: 'other@example.com' });
  const account = await world.account();
  const { browser } = await makeMember(account, 'admin', 'admin@example.com');
  Object.assign(world.env, { DB_01: env.DB_01 });
  const before = await browser.get('/console/agents');
  await move(world, account, '01');
  await browser.get('/console/agents');
  const after = await browser.get('/console/agents');
  expect([after.status, after.cost.trips]).toEqual([200, before.cost.trips]);
});

it('a credential that was deleted on the new shard is unknown at once', async () => {
  const world = new World();
  await world.account({ email: 'other@example.com' });
  const account = await world.account();
  Object.assign(world.env, { DB_01: env.DB_01 });
  await move(world, account, '01');
  const { body } = await account.must(201, 'POST', '/v1/me/tokens', {});
  await world.must(200, 'GET', '/v1/agents', { token: body.token });
  await account.must(204, 'DELETE', `/v1/me/tokens/${body.id}`);
  await world.must(401, 'GET', '/v1/agents', { token: body.token });
});

it('a shard that fails after the account left it fails no request', async () => {
  const second = new FaultyDatabase(env.DB_01);
  const world = new World();
  await world.account({ email: 'other@example.com' });
  const account = await world.account();
  Object.assign(world.env, { DB_01: second.binding });
  await move(world, account, '01');
  expect(await statuses(account, 2)).toEqual([200, 200]);
  await move(world, account, '00', env.DB_01);
  second.refuse(/./);
  expect(await statuses(account, 2)).toEqual([200, 200]);
});

it('an account that comes back between two round trips is found', async () => {
  const first = new FaultyDatabase(env.DB);
  const world = new World({ DB: first.binding });
  await world.account({ email: 'other@example.com' });
  const account = await world.account();
  Object.assign(world.env, { DB_01: env.DB_01 });
  await move(world, account, '01');
  await orderMove(world, account.id, '00', env.DB_01);
  const shards = openShards();
  const mover = new Mover(shards[1] as never, shards as never);
  world.restart();
  const comeBack = async () => {
    while (await mover.moveSlice(world.now));
  };
  first.before(1, comeBack, /moved_credentials/);
  expect(await statuses(account, 2)).toEqual([200, 200]);
});

it('a copy that arrives is not read, although the account was there before', async () => {
  const world = new World();
  await world.account({ email: 'other@example.com' });
  const account = await world.account();
  Object.assign(world.env, { DB_01: env.DB_01 });
  await move(world, account, '01');
  expect(await statuses(account, 1)).toEqual([200]);
  const isolate = world.env;
  await move(world, account, '00', env.DB_01);
  await orderMove(world, account.id, '01');
  // The last transaction of the move fails, which makes the copy the account.
  const [home, target] = openShards();
  const failing = new FaultyDatabase(env.DB);
  failing.refuse(/insert or ignore into "moved_credentials"/);
  const broken = { ...home, database: new Database(failing.binding, new Cost()) };
  const mover = new Mover(broken as never, [broken, target] as never);
  for (let goesOn = true; goesOn; )
    goesOn = (await mover.moveSlice(world.now).catch(() => false)) === true;
  const copy = env.DB_01.prepare('select count(*) as n from accounts where id = ?');
  expect(await copy.bind(idBytes(account.id as Id<'user'>)).first('n')).toBe(1);
  world.env = isolate;
  expect(await statuses(account, 2)).toEqual([200, 200]);
});
