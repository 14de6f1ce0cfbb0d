import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { JobSizes } from '../../src/files/job-context';
import { TestBucket } from '../support/bucket';
import { checkEverything } from '../support/check';
import { depth } from '../support/depth';
import { FAULTS_TIMEOUT, MODES } from '../support/failing-calls';
import { Outage, type OutageMode } from '../support/outage';
import { emptyTables, saveTables } from '../support/tables';
import { type TestAccount, type TestAgent, World } from '../support/world';

const KIB = 2 ** 10;
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/**
 * Number of failures per job in a deep run. A shallow run tests a single failure, a different one
 * for each job.
 */
const SAMPLES = 4;

/** A shallow run tests one of this many jobs. */
const SHALLOW_JOBS = 3;

/** Small parts and slices, so that a job has many boundaries. */
export const SMALL: JobSizes = {
  part: 16 * KIB,
  sliceRows: 20,
  sliceBytes: 12 * KIB,
  slices: 2,
  batchRows: 20,
};

/**
 * An account with entries of all types, some of which are sealed. A second account exists beside
 * it.
 */
export interface Life {
  world: World;
  outage: Outage;
  bucket: TestBucket;
  account: TestAccount;
  agents: [TestAgent, TestAgent];
}

/** A background job under test. */
export interface Job<P = unknown> {
  name: string;
  /** Sets up the data of the job. Its result is passed to `expectEnd`. */
  prepare: (life: Life) => Promise<P>;
  work: (world: World) => Promise<void>;
  /** Checks that the job is done. Returns what must be the same with and without failures. */
  expectEnd: (life: Life, prepared: P) => Promise<unknown>;
}

let jobs = 0;

/** A call that fails, counted from 1. */
interface Fault {
  call: number;
  mode: OutageMode;
}

/**
 * Tests that tree, log, state, files, deliveries and statistics are consistent after any call of a
 * job fails or kills its worker, both immediately and after the scheduled work has run, and that
 * the job is then done as without a failure.
 */
export function testJob<P>({ name, prepare, work, expectEnd }: Job<P>): void {
  const turn = jobs++;
  describe(name, () => {
    beforeEach(silenceLog);

    const test = it.runIf(depth.isDeep || turn % SHALLOW_JOBS === 0);
    test(
      'leaves consistent data and completes after any of its calls fails',
      FAULTS_TIMEOUT,
      async ({ annotate }) => {
        await emptyTables(env.DB);
        const life = await makeLife();
        const { world, outage, bucket } = life;
        const prepared = await prepare(life);
        const restore = await save(life);
        outage.arm(null);
        await work(world);
        const { calls } = outage;
        expect(await checkEverything(world, bucket)).toEqual([]);
        const end = await expectEnd(life, prepared);

        const findings: string[] = [];
        let failures = 0;
        for (const fault of listFaults(calls, turn)) {
          const compare = async (when: string) => {
            const differences = await checkEverything(world, bucket);
            findings.push(
              ...differences.map(
                (difference) => `${describeFault(fault, calls)}, ${when}: ${difference}`,
              ),
            );
          };
          await restore();
          outage.arm(fault);
          await work(world).catch(() => undefined);
          if (outage.hasFailed) failures += 1;
          outage.arm(null);
          await compare('immediately');
          await recover(world);
          await compare('after recovery');
          try {
            expect(await expectEnd(life, prepared)).toEqual(end);
          } catch (error) {
            findings.push(
              `${describeFault(fault, calls)}: ${error instanceof Error ? error.message : error}`,
            );
          }
        }
        expect(findings).toEqual([]);
        await annotate(`${calls} calls, ${failures} failures, no inconsistency`, 'faults');
      },
    );
  });
}

/**
 * Suppresses the log of the service, because the lines of so many failures would be too long to
 * read.
 */
export function silenceLog(): void {
  vi.spyOn(console, 'log').mockImplementation(() => undefined);
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
}

function describeFault({ call, mode }: Fault, calls: number): string {
  return `call ${call} of ${calls} (${mode})`;
}

/**
 * All calls in all modes in an exhaustive run. Otherwise samples in different modes, spread over
 * the calls.
 */
function listFaults(calls: number, turn: number): Fault[] {
  const all = Array.from({ length: calls }, (_, i) => i + 1);
  if (depth.isExhaustive) return all.flatMap((call) => MODES.map((mode) => ({ call, mode })));
  const samples = Array.from({ length: SAMPLES }, (_, i) => ({
    call: 1 + Math.floor(((i + 0.5) * calls) / SAMPLES),
    mode: MODES[i % MODES.length] as OutageMode,
  }));
  return depth.cases(samples.slice(depth.runs(turn % SAMPLES, 0)), SAMPLES);
}

async function makeLife(): Promise<Life> {
  const outage = new Outage();
  const bucket = new TestBucket(16 * KIB, 1_000);
  const world = new World({ DB: outage.database(env.DB), FILES: outage.bucket(bucket.binding) });
  world.env.JOB_QUEUE = outage.queue(world.queue.binding);
  world.env.WEBHOOK_QUEUE = outage.queue(world.deliveryQueue.binding);
  world.env.SLOW_WEBHOOK_QUEUE = outage.queue(world.slowDeliveryQueue.binding);
  const account = await world.account({ plan: 'enterprise' });
  const agents: Life['agents'] = [await account.agent(), await account.agent()];
  for (const agent of [...agents, await (await world.account()).agent()]) await live(agent);
  await world.sweep();
  for (const agent of agents) await live(agent);
  return { world, outage, bucket, account, agents };
}

/** Makes permission requests of an agent with every possible outcome. */
export async function live(agent: TestAgent): Promise<void> {
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

/** Saves the whole state. The returned function restores it. */
async function save({ world, bucket }: Life): Promise<() => Promise<void>> {
  const [restoreTables, restoreBucket] = [await saveTables(env.DB), bucket.save()];
  const { now, internet } = world;
  const queues = [world.queue, world.deliveryQueue, world.slowDeliveryQueue];
  const waiting = queues.map((queue) => queue.waiting);
  const received = [...internet.received];
  return async () => {
    await restoreTables();
    restoreBucket();
    world.now = now;
    for (const [i, queue] of queues.entries()) queue.waiting = [...(waiting[i] as never[])];
    internet.received = [...received];
  };
}

/** Runs all scheduled and queued work several times. */
async function recover(world: World): Promise<void> {
  for (const pause of [MINUTE, MINUTE, MINUTE, 20 * MINUTE]) {
    world.advance(pause);
    await world.sweep();
    await world.work(SMALL);
    await world.deliver();
  }
  world.advance(HOUR);
  await world.clean();
}
