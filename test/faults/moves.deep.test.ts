import { env } from 'cloudflare:test';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { Mover } from '../../src/accounts/move/mover';
import { Cost, Database } from '../../src/db/database';
import { eraseReceiverDeliveries } from '../../src/erasure/erase-receivers';
import { openErasure } from '../support/agent-erasure';
import { FAULTS_TIMEOUT, failingCalls, MODES } from '../support/failing-calls';
import { type Life, makeLife, repeated } from '../support/life';
import { dumpAccount, eraseRest, findRemains, isMoving, orderMove } from '../support/moves';
import { Outage, type OutageMode } from '../support/outage';
import { emptyTables, saveTables } from '../support/tables';
import { makeWebhook } from '../support/webhooks';
import { World } from '../support/world';
import { silenceLog } from './jobs';

/** Small slices, so that a small account takes many of them. */
const SIZES = { rows: 6, characters: 20_000, entries: 8 };
/** Number of failing calls per mode in a deep run. */
const SAMPLE = 5;
const CHANGE_EVERY = 1;
const SLICES_BEFORE_ABANDON = 8;

const world = new World();
let life: Life;
let extraWebhook: { id: string };
let restore: () => Promise<void>;

beforeAll(async () => {
  life = await makeLife(world);
  // From now on, so that the account is made on the first shard.
  Object.assign(world.env, { DB_01: env.DB_01 });
  extraWebhook = await makeWebhook(life.account);
  await life.agents[1]?.request();
  await world.deliver();
  restore = await saveTables(env.DB);
});

beforeEach(silenceLog);

/** The changes that happen to the account, one after another, while it is copied. */
function makeChanges(): (() => Promise<unknown>)[] {
  const { account, agents, tokens } = life;
  const [first, second] = agents;
  const database = new Database(env.DB, new Cost());
  return [
    () =>
      Promise.all([first?.approved(), account.must(201, 'POST', '/v1/agents', { name: 'New' })]),
    () => first?.must(200, 'POST', '/v1/tokens/use', { token: tokens[0] }) ?? Promise.reject(),
    () => account.must(204, 'DELETE', `/v1/webhooks/${extraWebhook.id}`),
    () => account.must(204, 'DELETE', `/v1/agents/${second?.id}`),
    () => openErasure(env.DB, 'newest', world.now).eraseSlice(),
    () => eraseReceiverDeliveries(database),
    () => account.must(200, 'POST', `/v1/agents/${first?.id}/rotate-key`, {}),
    () =>
      world.must(201, 'POST', '/v1/agents', {
        ...repeated(account),
        headers: { 'Idempotency-Key': 'again' },
      }),
    () =>
      account.must(202, 'POST', '/v1/audit/export', {
        start_date: '2026-01-01',
        end_date: '2026-12-31',
      }),
    () => openErasure(env.DB, 'oldest', world.now).eraseSlice(),
    async () => {
      const late = await account.agent({ name: 'Late' });
      await late.approved();
      await account.must(204, 'DELETE', `/v1/agents/${late.id}`);
    },
  ];
}

/** Whether the account still accepts writes on its old shard. */
async function isLive(): Promise<boolean> {
  return (
    (await env.DB.prepare('select 1 from moves where held_at is null and not has_left').first()) !==
    null
  );
}

type Plan = { call: number; mode: OutageMode } | null;

/** Restores the account on its old shard, without a move. */
async function reset(): Promise<void> {
  for (const database of [env.DB, env.DB_01]) {
    await database.exec('delete from moves');
    await emptyTables(database);
  }
  await restore();
}

/** A mover of accounts from a shard, whose database calls can fail. */
function openMover(outage: Outage, from: '00' | '01' = '00'): Mover {
  const cost = new Cost();
  const shards = [
    { name: '00', database: new Database(outage.database(env.DB), cost) },
    { name: '01', database: new Database(outage.database(env.DB_01), cost) },
  ] as const;
  return new Mover(from === '00' ? shards[0] : shards[1], shards, SIZES);
}

/**
 * Moves the account while it is in use, with at most one failing call. Returns the number of calls.
 */
async function moveWith(plan: Plan, hasRival = false): Promise<number> {
  await reset();
  const { account } = life;
  const outage = new Outage();
  const start = () => openMover(outage);
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
  while (await eraseReceiverDeliveries(new Database(env.DB_01, new Cost())));
  expect(await dumpAccount(env.DB_01, account.id)).toEqual(expected);
  const rows = Object.entries(expected ?? {}).flatMap(([name, rows]) =>
    rows.length > 0 ? `${rows.length} ${name}` : [],
  );
  expect(await findRemains(env.DB_01)).toEqual(
    rows.filter((name) => !name.endsWith(' stored_answers')),
  );
  await eraseRest(env.DB, world.now);
  expect(await findRemains(env.DB)).toEqual([]);
  return calls + outage.calls;
}

/**
 * Abandons a move halfway, with at most one failing call of the clean-up. Returns the number of
 * clean-up calls.
 */
async function abandonWith(plan: Plan): Promise<number> {
  await reset();
  const { account } = life;
  const outage = new Outage();
  await orderMove(world, account.id, '01');
  const mover = openMover(outage);
  for (let slice = 1; slice <= SLICES_BEFORE_ABANDON; slice++) await mover.moveSlice(world.now);
  expect(await findRemains(env.DB_01)).not.toEqual([]);
  const expected = await dumpAccount(env.DB, account.id);
  await env.DB.exec('delete from moves');
  outage.arm(plan);
  await openMover(outage, '01')
    .eraseAbandonedCopies()
    .catch(() => undefined);
  const { calls } = outage;
  outage.arm(null);
  await openMover(outage, '01').eraseAbandonedCopies();
  await eraseRest(env.DB_01, world.now);
  expect([await isMoving(), await findRemains(env.DB_01)]).toEqual([false, []]);
  expect(await dumpAccount(env.DB, account.id)).toEqual(expected);
  return calls;
}

/**
 * Lets calls fail, a single one per run: all calls in an exhaustive run, otherwise a sample that
 * differs for each mode.
 */
async function failCalls(
  calls: number,
  mode: OutageMode,
  run: (plan: Plan) => Promise<number>,
  annotate: (message: string, type: string) => Promise<unknown>,
): Promise<void> {
  const stride = Math.floor(calls / SAMPLE);
  const turn = Math.floor((stride * MODES.indexOf(mode)) / MODES.length);
  let failures = 0;
  for (const call of failingCalls(calls, stride, turn)) {
    failures += 1;
    await run({ call, mode }).catch((error: unknown) => {
      throw new Error(`call ${call} of ${calls}`, { cause: error });
    });
  }
  await annotate(`${calls} calls, ${failures} failures, no inconsistency`, 'faults');
}

let total: number;

it('an account moves to another shard while it is in use', async () => {
  total = await moveWith(null);
  expect(total).toBeGreaterThan(100);
});

it('an account moves once when two movers run concurrently', async () => {
  expect(await moveWith(null, true)).toBeGreaterThan(total);
});

it.for(MODES)(
  'a move resumes after any call fails (%s)',
  FAULTS_TIMEOUT,
  async (mode, { annotate }) => {
    await failCalls(total, mode, moveWith, annotate);
  },
);

it.for(MODES)(
  'an abandoned move is cleaned up even if any call fails (%s)',
  FAULTS_TIMEOUT,
  async (mode, { annotate }) => {
    await failCalls(await abandonWith(null), mode, abandonWith, annotate);
  },
);
