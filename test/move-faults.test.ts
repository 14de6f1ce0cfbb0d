import { env } from 'cloudflare:test';
import { beforeAll, expect, it } from 'vitest';
import { Cost, Database } from '../src/db/database';
import { eraseWebhooks } from '../src/ledger/erasure';
import { Mover } from '../src/ledger/mover';
import { seededRandom } from './bench/random';
import { openErasure } from './support/agent-erasure';
import { type Life, makeLife, repeated } from './support/life';
import { dumpAccount, eraseRest, findRemains, isMoving, orderMove } from './support/moves';
import { Outage, type OutageMode } from './support/outage';
import { emptyTables, saveTables } from './support/tables';
import { makeWebhook } from './support/webhooks';
import { World } from './support/world';

const MODES: OutageMode[] = ['before', 'after', 'kill before', 'kill after'];
/** Small, so that a small account takes many slices. */
const SIZES = { rows: 6, characters: 20_000, changes: 8 };
/** How many of the calls fail, about, in each mode: all of them with MOVE_FAULTS=all. */
const SAMPLE = env.MOVE_FAULTS === 'all' ? Number.POSITIVE_INFINITY : 5;
const CHANGE_EVERY = 2;

const world = new World({ DB_01: env.DB_01 });
let life: Life;
let further: { id: string };
let restore: () => Promise<void>;

beforeAll(async () => {
  life = await makeLife(world);
  further = await makeWebhook(life.account);
  await life.agents[1]?.request();
  await world.deliver();
  restore = await saveTables(env.DB);
});

/** What happens to the account while it is copied, one after the other. */
function makeChanges(): (() => Promise<unknown>)[] {
  const { account, agents, tokens } = life;
  const [first, second] = agents;
  const database = new Database(env.DB, new Cost());
  return [
    () => Promise.all([first?.approved(), account.must(201, 'POST', '/v1/agents', { name: 'New' })]),
    () => first?.must(200, 'POST', '/v1/tokens/use', { token: tokens[0] }) ?? Promise.reject(),
    () => account.must(204, 'DELETE', `/v1/webhooks/${further.id}`),
    () => account.must(204, 'DELETE', `/v1/agents/${second?.id}`),
    () => openErasure(env.DB, 'newest', world.now).eraseSlice(),
    () => eraseWebhooks(database),
    () => account.must(200, 'POST', `/v1/agents/${first?.id}/rotate-key`, {}),
    () => world.must(201, 'POST', '/v1/agents', { ...repeated(account), headers: { 'Idempotency-Key': 'again' } }),
    () => account.must(202, 'POST', '/v1/audit/export', { start_date: '2026-01-01', end_date: '2026-12-31' }),
    () => openErasure(env.DB, 'oldest', world.now).eraseSlice(),
    async () => {
      const late = await account.agent({ name: 'Late' });
      await late.approved();
      await account.must(204, 'DELETE', `/v1/agents/${late.id}`);
    },
  ];
}

/** Whether the account is still used where it was. */
async function isLive(): Promise<boolean> {
  return (await env.DB.prepare('select 1 from moves where held_at is null').first()) !== null;
}

/** Moves the account while it is in use, with one call that fails; answers how many calls it took. */
async function moveWith(plan: { call: number; mode: OutageMode } | null, hasRival = false): Promise<number> {
  for (const database of [env.DB, env.DB_01]) {
    await database.exec('delete from moves');
    await emptyTables(database);
  }
  await restore();
  const { account } = life;
  const outage = new Outage();
  const start = () => {
    const cost = new Cost();
    const source = { name: '00', database: new Database(outage.database(env.DB), cost) };
    return new Mover(source, [source, { name: '01', database: new Database(outage.database(env.DB_01), cost) }], SIZES);
  };
  const rival = hasRival ? start() : null;
  const changes = makeChanges();
  let expected = await dumpAccount(env.DB, account.id);
  await orderMove(world, account.id, '01');
  outage.arm(plan);
  let calls = 0;
  for (let [slice, mover] = [1, start()]; await isMoving(); slice++) {
    if (slice > 300) throw new Error('it takes too long');
    try {
      if (rival) await Promise.allSettled([mover.moveSlice(world.now), rival.moveSlice(world.now)]);
      else await mover.moveSlice(world.now);
    } catch {
      calls += outage.calls;
      outage.arm(null);
      mover = start();
    }
    if (slice % CHANGE_EVERY > 0 || changes.length === 0 || !(await isLive())) continue;
    await changes.shift()?.();
    expected = await dumpAccount(env.DB, account.id);
  }
  if (plan === null) expect(changes.length).toBe(0);
  while (await eraseWebhooks(new Database(env.DB_01, new Cost())));
  expect(await dumpAccount(env.DB_01, account.id)).toEqual(expected);
  const rows = Object.entries(expected ?? {}).flatMap(([name, rows]) =>
    rows.length > 0 ? `${rows.length} ${name}` : [],
  );
  expect(await findRemains(env.DB_01)).toEqual(rows.filter((name) => !name.endsWith(' stored_answers')));
  await eraseRest(env.DB, world.now);
  expect(await findRemains(env.DB)).toEqual([]);
  return calls + outage.calls;
}

let total: number;

it('moves an account in use', async () => {
  total = await moveWith(null);
  expect(total).toBeGreaterThan(100);
});

it('is moved by two at once', async () => {
  expect(await moveWith(null, true)).toBeGreaterThan(total);
});

it.each(MODES)('goes on wherever a call fails (%s)', { timeout: 900_000 }, async (mode) => {
  const random = seededRandom(MODES.indexOf(mode) + 1);
  for (let call = 1; call <= total; call++) {
    if (!random.chance(SAMPLE / total)) continue;
    await moveWith({ call, mode }).catch((error: unknown) => {
      throw new Error(`call ${call} of ${total}`, { cause: error });
    });
  }
});
