import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { Mover } from '../../src/accounts/move/mover';
import type { MoverShard } from '../../src/accounts/move/shard';
import { Cost, Database } from '../../src/db/database';
import { checkLeftovers } from '../support/check-leftovers';
import { FaultyDatabase } from '../support/faults';
import { findRemains, isMoving, orderMove } from '../support/moves';
import { sealLogs } from '../support/seal';
import { DATABASES } from '../support/shards';
import { emptyTables } from '../support/tables';
import { type Json, makeAgent, World } from '../support/world';

const ACT = { action: 'payment.send', resource: 'account:4711', scope: { amount: 500 } };
const DAY = 86_400_000;

beforeEach(async () => {
  for (const database of Object.values(DATABASES)) {
    await database.exec('delete from moves');
    await emptyTables(database);
  }
});

describe('a move', () => {
  function makeMover(
    sizes?: { rows: number; characters: number; entries: number },
    wrap = (d: D1Database) => d,
  ) {
    const shards = ['00', '01'].map((name) => ({
      name,
      database: new Database(wrap(DATABASES[name] as D1Database), new Cost()),
    }));
    return new Mover(shards[0] as MoverShard, shards, sizes);
  }

  it('erases nothing until it is complete', async () => {
    const { world, account, agent } = await makeAgent(new World(), {
      plan: 'enterprise',
      audit_retention_days: 1,
    });
    Object.assign(world.env, { DB_01: env.DB_01 });
    const ASKED = { ...ACT, external_id: 'nightly' };
    const first = (await agent.must(201, 'POST', '/v1/permissions', ASKED)).body;
    await agent.must(200, 'POST', `/v1/permissions/${first.id}/withdraw`);
    world.advance(DAY - 60_000);
    await agent.request();
    await sealLogs(env.DB);
    await orderMove(world, account.id, '01');
    const mover = makeMover({ rows: 1, characters: 20_000, entries: 8 });
    const copied = async () =>
      env.DB_01.prepare('select count(*) as n from permissions').first<number>('n');
    while ((await copied()) === 0) await mover.moveSlice(world.now);
    world.advance(2 * 60_000);
    const { now } = world;
    // Retention of the source, as the hourly task does it.
    const { RetentionErasure } = await import('../../src/erasure/erase-retention');
    const erasure = new RetentionErasure(
      new Database(env.DB, new Cost()),
      async () => 'note',
      () => now,
    );
    expect(await erasure.eraseSlice()).toBe(false);
    await agent.must(200, 'GET', `/v1/permissions/${first.id}`);
    for (let n = 0; n < 200 && (await isMoving()); n++) await mover.moveSlice(world.now);
    expect(await isMoving()).toBe(false);
    await world.clean();
    await agent.must(404, 'GET', `/v1/permissions/${first.id}`);
    await agent.must(201, 'POST', '/v1/permissions', ASKED);
  });

  it('sends batches of less than 8 MB to the other shard', async () => {
    const { world, account, agent } = await makeAgent();
    Object.assign(world.env, { DB_01: env.DB_01 });
    await orderMove(world, account.id, '01');
    let largest = 0;
    const wrap = (database: D1Database) => {
      const sizes = new WeakMap<D1PreparedStatement, number>();
      return {
        prepare: (sql: string) => {
          const prepared = database.prepare(sql);
          const bind = prepared.bind.bind(prepared);
          sizes.set(prepared, sql.length);
          prepared.bind = (...values: unknown[]) => {
            const statement = bind(...values);
            sizes.set(statement, sql.length + JSON.stringify(values).length);
            return statement;
          };
          return prepared;
        },
        batch: async (statements: D1PreparedStatement[]) => {
          const results = await database.batch(statements);
          const sent = statements.reduce((sum, statement) => sum + (sizes.get(statement) ?? 0), 0);
          const got = JSON.stringify(results).length;
          largest = Math.max(largest, sent, got);
          return results;
        },
      } as unknown as D1Database;
    };
    const mover = makeMover(undefined, wrap);
    for (let n = 0; n < 11; n++) await mover.moveSlice(world.now);
    const quotes = '"'.repeat(8_190);
    for (let n = 0; n < 240; n++) {
      await agent.request({ input: quotes, preview: { title: '"'.repeat(8_180) } });
    }
    for (let n = 0; n < 50 && (await isMoving()); n++) await mover.moveSlice(world.now);
    expect(await isMoving()).toBe(false);
    expect(largest).toBeLessThan(8_000_000);
  });

  const SMALL = { rows: 8, characters: 20_000, entries: 8 };
  const CONTENTS = { input: { secret: 'Ada' }, preview: { title: 'Ada' } };

  it.each([
    ['after a request that came while contents were copied', 0],
    ['after a request during any other phase', 1],
  ])('leaves nothing on the other shard if it is abandoned %s', async (_, kind) => {
    const phases = kind === 0 ? [5] : [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12];
    const remains: string[] = [];
    for (const slices of phases) {
      for (const database of Object.values(DATABASES)) {
        await database.exec('delete from moves');
        await emptyTables(database);
      }
      const { world, account, agent } = await makeAgent();
      Object.assign(world.env, { DB_01: env.DB_01 });
      await agent.request(CONTENTS);
      await orderMove(world, account.id, '01');
      const mover = makeMover(SMALL);
      for (let n = 0; n < slices; n++) await mover.moveSlice(world.now);
      await agent.request(CONTENTS);
      await mover.moveSlice(world.now);
      await env.DB.exec('delete from moves');
      world.advance(60_000);
      for (let n = 0; n < 4; n++) await world.sweep();
      for (const remain of await findRemains(env.DB_01)) remains.push(`${slices}: ${remain}`);
    }
    expect(remains).toEqual([]);
  });

  it('takes all contents along, with requests in every phase, and leaves none on the old shard', async () => {
    const { world, account, agent } = await makeAgent();
    Object.assign(world.env, { DB_01: env.DB_01 });
    const other = await account.agent();
    const doomed = [await account.agent(), await account.agent(), await account.agent()];
    for (const one of [agent, other, ...doomed])
      await one.request({ ...CONTENTS, external_id: 'x' });
    await orderMove(world, account.id, '01');
    const mover = makeMover(SMALL);
    const asked: Json[] = [];
    for (let n = 0; n < 400 && (await isMoving()); n++) {
      const isInUse = `select 1 from moves where held_at is null and not has_left`;
      if (n < 24 && (await env.DB.prepare(isInUse).first()) !== null) {
        asked.push(await agent.request({ ...CONTENTS, external_id: `e-${n}` }));
        const { id } = await other.request(CONTENTS);
        await other.must(200, 'POST', `/v1/permissions/${id}/withdraw`);
        if (n % 6 === 3) {
          const gone = doomed.pop();
          if (gone) await account.must(204, 'DELETE', `/v1/agents/${gone.id}`);
        }
      }
      await mover.moveSlice(world.now);
    }
    expect(await isMoving()).toBe(false);
    for (const one of asked) {
      expect((await agent.must(200, 'GET', `/v1/permissions/${one.id}`)).body).toEqual(one);
      const { external_id } = one;
      const again = { action: one.action, resource: one.resource, ...CONTENTS, external_id };
      expect((await agent.must(200, 'POST', '/v1/permissions', again)).body.id).toBe(one.id);
    }
    for (let n = 0; n < 6; n++) {
      world.advance(60_000);
      await world.sweep();
    }
    expect(await findRemains(env.DB)).toEqual([]);
    expect(await checkLeftovers(env.DB_01)).toEqual([]);
    await world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, {
      token: world.env.ADMIN_TOKEN ?? '',
    });
    for (let n = 0; n < 70; n++) {
      world.advance(60_000);
      await world.sweep();
    }
    expect(await findRemains(env.DB_01)).toEqual([]);
  });

  it('shows a repeated request the permission as it is on the new shard', async () => {
    const database = new FaultyDatabase(env.DB);
    const { world, account, agent } = await makeAgent(new World({ DB: database.binding }));
    Object.assign(world.env, { DB_01: env.DB_01 });
    const rival = new World({ DB_01: env.DB_01 });
    rival.now = world.now;
    const ASKED = { ...ACT, input: 1, external_id: 'x' };
    let denied: Json;
    database.before(2, async () => {
      const { body } = await rival.must(201, 'POST', '/v1/permissions', {
        token: agent.key,
        body: ASKED,
      });
      await orderMove(rival, account.id, '01');
      const shards = ['00', '01'].map((name) => ({
        name,
        database: new Database(DATABASES[name] as D1Database, new Cost()),
      }));
      const mover = new Mover(shards[0] as MoverShard, shards);
      for (let n = 0; n < 100 && (await isMoving()); n++) await mover.moveSlice(rival.now);
      denied = (
        await rival.must(200, 'POST', `/v1/permissions/${body.id}/deny`, { token: account.token })
      ).body;
    });
    const { status, body } = await agent.call('POST', '/v1/permissions', ASKED);
    expect(denied.status).toBe('denied');
    expect([status, body.status]).toEqual([200, 'denied']);
  });
});
