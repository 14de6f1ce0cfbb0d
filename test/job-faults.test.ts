import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { JobSizes } from '../src/files/job';
import { TestBucket } from './support/bucket';
import { checkEverything } from './support/check';
import { readExport, startExport } from './support/exports';
import { Outage, type OutageMode } from './support/outage';
import { readReport, startReport } from './support/reports';
import { countRows, emptyTables, saveTables } from './support/tables';
import { type Json, type TestAccount, type TestAgent, World } from './support/world';

const KIB = 2 ** 10;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Small parts and slices, so that a job has many boundaries. */
const SMALL: JobSizes = { part: 16 * KIB, sliceRows: 20, sliceBytes: 12 * KIB, slices: 2, batchRows: 20 };
const MODES: OutageMode[] = ['before', 'after', 'kill before', 'kill after'];
/** Failures of each job that are looked at, spread over its calls. */
const SAMPLES = 10;

/** An account with a history of every kind, of which a part is sealed; and another one beside it. */
interface Life {
  world: World;
  outage: Outage;
  bucket: TestBucket;
  account: TestAccount;
  agents: TestAgent[];
}

async function makeLife(): Promise<Life> {
  const outage = new Outage();
  const bucket = new TestBucket(16 * KIB, 1_000);
  const world = new World({ DB: outage.database(env.DB), FILES: outage.bucket(bucket.binding) });
  world.env.JOB_QUEUE = outage.queue(world.queue.binding);
  const account = await world.account({ plan: 'enterprise' });
  const agents = [await account.agent(), await account.agent()];
  for (const agent of [...agents, await (await world.account()).agent()]) await live(agent);
  await world.sweep();
  for (const agent of agents) await live(agent);
  return { world, outage, bucket, account, agents };
}

async function live(agent: TestAgent): Promise<void> {
  const { account } = agent;
  const { token } = await agent.approved({ max_uses: 2 });
  await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
  await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
  const { id } = await agent.request();
  await account.must(200, 'POST', `/v1/permissions/${id}/deny`);
  const revoked = await agent.approved();
  await agent.must(200, 'POST', '/v1/tokens/revoke', { token_id: revoked.token.id });
  await agent.approved();
  await agent.request();
}

interface Job {
  name: string;
  /** What is there before the job; what it gives is given to the end. */
  prepare: (life: Life) => Promise<unknown>;
  work: (world: World) => Promise<void>;
  /** That the job is done; gives what is the same however it was done. */
  expectEnd: (life: Life, prepared: never) => Promise<unknown>;
}

const deleteAccount = ({ world, account }: Life) =>
  world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, { token: env.ADMIN_TOKEN });

async function expectFile({ bucket }: Life, { status, sha256, proof_url }: Json): Promise<unknown> {
  expect([status, bucket.openUploads]).toEqual(['completed', []]);
  // The address tells when it was finished.
  return [sha256, proof_url === null, bucket.fileKeys];
}

const jobs: Job[] = [
  {
    name: 'the sealing of logs',
    prepare: async ({ agents }) => {
      // More than a tile.
      for (let i = 0; i < 60; i++) await Promise.all(agents.flatMap((agent) => [agent.request(), agent.request()]));
    },
    work: (world) => world.sweep(),
    expectEnd: async () => {
      const unsealed = `select account from trees
        where size < (select max(pos) % 4294967296 from audit_entries where pos / 4294967296 = account)`;
      expect((await env.DB.prepare(unsealed).all()).results).toEqual([]);
    },
  },
  {
    name: 'the expiry of requests and tokens',
    prepare: async ({ world }) => world.advance(2 * HOUR),
    work: (world) => world.sweep(),
    expectEnd: async () => {
      const due = 'select id from permissions where status = 0 or (token_status = 0 and token_uses = 0)';
      expect((await env.DB.prepare(due).all()).results).toEqual([]);
      return (await countRows(env.DB)).audit_entries;
    },
  },
  {
    name: 'retention',
    prepare: async ({ world, account }) => {
      const token = env.ADMIN_TOKEN;
      await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, { token, body: { plan: 'free' } });
      world.advance(DAY);
      await world.sweep();
      world.advance(MINUTE);
      await world.sweep();
      world.advance(8 * DAY);
    },
    work: (world) => world.clean(),
    expectEnd: async () => {
      const { audit_entries, permissions, activity } = await countRows(env.DB);
      expect([audit_entries, permissions, activity]).toEqual([0, 0, 0]);
    },
  },
  {
    name: 'the erasure of an agent',
    prepare: ({ account, agents: [agent] }) => account.must(204, 'DELETE', `/v1/agents/${agent?.id}`),
    work: (world) => world.sweep(),
    expectEnd: async () => {
      const { erasures, agents, audit_entries } = await countRows(env.DB);
      expect([erasures, agents]).toEqual([0, 2]);
      const orphans = 'select pos from audit_entries where agent not in (select number from agents)';
      expect([audit_entries === 0, (await env.DB.prepare(orphans).all()).results]).toEqual([false, []]);
    },
  },
  {
    name: 'the deletion of an account',
    prepare: async (life) => {
      await startExport(life.account, { format: 'json', include_details: true });
      await life.world.work(SMALL);
      await deleteAccount(life);
    },
    work: async (world) => {
      await world.sweep();
      world.advance(20 * MINUTE);
      await world.sweep();
    },
    expectEnd: async ({ account, bucket }) => {
      const { accounts, agents, erasures, files, trees, erased_entries } = await countRows(env.DB);
      expect([accounts, agents, erasures, files, trees, erased_entries]).toEqual([1, 1, 0, 0, 1, 0]);
      expect(bucket.keys.filter((key) => key.includes(account.id) || key.startsWith('files/'))).toEqual([]);
    },
  },
  {
    name: 'an export and its proof',
    prepare: ({ account }) => startExport(account, { format: 'json', include_details: true }),
    work: (world) => world.work(SMALL),
    expectEnd: async (life, id) => expectFile(life, await readExport(life.account, id)),
  },
  {
    name: 'an export whose message was lost',
    prepare: async ({ world, account }) => {
      const id = await startExport(account, { format: 'csv', include_details: true });
      world.queue.take();
      world.advance(MINUTE);
      return id;
    },
    work: async (world) => {
      await world.sweep();
      await world.work(SMALL);
    },
    expectEnd: async (life, id) => expectFile(life, await readExport(life.account, id)),
  },
  {
    name: 'a report',
    prepare: ({ account }) => startReport(account),
    work: (world) => world.work(SMALL),
    expectEnd: async (life, id) => expectFile(life, await readReport(life.account, id)),
  },
  {
    name: 'the removal of a file',
    prepare: async ({ world, account }) => {
      await startExport(account, { format: 'json', include_details: true });
      await world.work(SMALL);
      world.advance(DAY);
    },
    work: (world) => world.sweep(),
    expectEnd: async ({ bucket }) => {
      expect(bucket.fileKeys).toEqual([]);
    },
  },
];

/** Everything that comes by itself comes, a few times. */
async function recover({ world }: Life): Promise<void> {
  for (const pause of [MINUTE, MINUTE, MINUTE, 20 * MINUTE]) {
    world.advance(pause);
    await world.sweep();
    await world.work(SMALL);
  }
  world.advance(HOUR);
  await world.clean();
}

describe.each(jobs)('$name', ({ prepare, work, expectEnd }) => {
  it('leaves tree, log, state, files and statistics in agreement wherever a call fails', {
    timeout: 120_000,
  }, async () => {
    await emptyTables(env.DB);
    const life = await makeLife();
    const { world, outage, bucket } = life;
    const prepared = (await prepare(life)) as never;
    const [restoreTables, restoreBucket] = [await saveTables(env.DB), bucket.save()];
    const { now, queue } = world;
    const { waiting } = queue;
    const restore = async () => {
      await restoreTables();
      restoreBucket();
      world.now = now;
      queue.waiting = [...waiting];
    };
    outage.arm(null);
    await work(world);
    const { calls } = outage;
    expect(await checkEverything(env.DB, bucket, world.now)).toEqual([]);
    const end = await expectEnd(life, prepared);
    const stride = Math.max(1, Math.floor(calls / SAMPLES));
    for (let sample = 0; sample * stride < calls; sample++) {
      const fault = { call: 1 + sample * stride, mode: MODES[sample % MODES.length] as OutageMode };
      await restore();
      outage.arm(fault);
      await work(world).catch(() => undefined);
      outage.arm(null);
      expect([fault, await checkEverything(env.DB, bucket, world.now)]).toEqual([fault, []]);
      await recover(life);
      expect([fault, await checkEverything(env.DB, bucket, world.now)]).toEqual([fault, []]);
      expect([fault, await expectEnd(life, prepared)]).toEqual([fault, end]);
    }
  });
});
