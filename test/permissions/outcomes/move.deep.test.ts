import { env } from 'cloudflare:test';
import { beforeEach, expect, it } from 'vitest';
import { Mover } from '../../../src/accounts/move/mover';
import type { MoverShard } from '../../../src/accounts/move/shard';
import { Cost, Database } from '../../../src/db/database';
import { dumpAccount, isMoving, orderMove, settleMoves } from '../../support/moves';
import {
  makeOutcomeScene,
  REPORT_PERIOD,
  readOutcome,
  report,
  resultOf,
  usePromised,
} from '../../support/outcomes';
import { DATABASES } from '../../support/shards';
import { emptyTables } from '../../support/tables';

beforeEach(async () => {
  for (const database of Object.values(DATABASES)) {
    await database.exec('delete from moves');
    await emptyTables(database);
  }
});

/** The scene on the first shard: with two, its accounts would be on the one with less in it. */
async function makeScene() {
  const scene = await makeOutcomeScene();
  Object.assign(scene.world.env, { DB_01: env.DB_01 });
  return scene;
}

/** Moves the account slice by slice, so that reports come between the slices. */
function openMover(): Mover {
  const shards = ['00', '01'].map((name) => {
    return { name, database: new Database(DATABASES[name] as D1Database, new Cost()) };
  }) as [MoverShard, MoverShard];
  return new Mover(shards[0], shards, { rows: 3, characters: 20_000, entries: 4 });
}

it.each([0, 1, 3, 5, 8])(
  'an account takes its outcomes along, and those reported after %d slices',
  async (slices) => {
    const { world, account, agent } = await makeScene();
    const old = await usePromised(agent, { preview: { title: 'The old one' } });
    world.advance(REPORT_PERIOD);
    await world.sweep();
    world.advance(5 * 86_400_000);
    const told = await usePromised(agent);
    const during = await usePromised(agent, { preview: { title: 'The one that is told' } });
    const silent = await usePromised(agent);
    const unused = await agent.approved({ reports_outcome: true });
    await report(agent, told.id, { status: 'failed', summary: 'Told before' });
    await orderMove(world, account.id, '01');
    const mover = openMover();
    for (let n = 0; n < slices; n++) await mover.moveSlice(world.now);
    expect(resultOf(await report(agent, during.id, { status: 'failed' }))[0]).toBe(200);
    expect(resultOf(await report(agent, old.id))[0]).toBe(200);
    const before = await dumpAccount(env.DB, account.id);
    while (await isMoving()) await mover.moveSlice(world.now);
    expect(await dumpAccount(env.DB_01, account.id)).toEqual(before);

    expect((await readOutcome(agent, told.id)).summary).toBe('Told before');
    expect((await readOutcome(agent, old.id)).status).toBe('succeeded');
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${during.id}`);
    expect([body.outcome.status, body.preview.title]).toEqual(['failed', 'The one that is told']);
    await agent.must(200, 'POST', '/v1/tokens/use', { token: unused.token.value });
    world.advance(REPORT_PERIOD);
    const unknown = await account.must(200, 'GET', '/v1/permissions?outcome=unknown');
    expect(unknown.body.data.map(({ id }: { id: string }) => id)).toEqual([unused.id, silent.id]);
    await world.sweep();
    const again = await account.must(200, 'GET', '/v1/permissions?outcome=unknown');
    expect(again.body.data).toEqual(unknown.body.data);
    expect(resultOf(await report(agent, silent.id))).toEqual([200, 'succeeded']);
  },
);

it('what becomes unknown during a move is told once', async () => {
  const { world, account, agent } = await makeScene();
  const { id } = await usePromised(agent);
  await orderMove(world, account.id, '01');
  const mover = openMover();
  for (let n = 0; n < 4; n++) await mover.moveSlice(world.now);
  world.advance(REPORT_PERIOD);
  await world.sweep();
  await settleMoves(world);
  expect((await readOutcome(agent, id)).status).toBe('unknown');
  const { body } = await account.must(200, 'GET', '/v1/permissions?outcome=unknown');
  expect(body.data.map((each: { id: string }) => each.id)).toEqual([id]);
});
