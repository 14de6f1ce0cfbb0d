import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { JobSizes } from '../../src/files/job';
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

/** How many failures of each job a deep run looks at. A shallow one looks at one, another for each job. */
const SAMPLES = 4;

/** Small parts and slices, so that a job has many boundaries. */
export const SMALL: JobSizes = { part: 16 * KIB, sliceRows: 20, sliceBytes: 12 * KIB, slices: 2, batchRows: 20 };

/** An account with a history of every kind, of which a part is sealed; and another one beside it. */
export interface Life {
  world: World;
  outage: Outage;
  bucket: TestBucket;
  account: TestAccount;
  agents: [TestAgent, TestAgent];
}

/** Work that nobody waits for. */
export interface Job<P = unknown> {
  name: string;
  /** What is there before the job; what it gives is given to the end. */
  prepare: (life: Life) => Promise<P>;
  work: (world: World) => Promise<void>;
  /** That the job is done; gives what is the same however it was done. */
  expectEnd: (life: Life, prepared: P) => Promise<unknown>;
}

let jobs = 0;

/** A call that fails, counted from 1. */
interface Fault {
  call: number;
  mode: OutageMode;
}

/**
 * Tests that tree, log, state, files, deliveries and statistics agree wherever a call of a job's work fails or is its
 * last, at once and after what comes by itself, and that the job is then done as if nothing had failed.
 */
export function testJob<P>({ name, prepare, work, expectEnd }: Job<P>): void {
  const turn = jobs++;
  describe(name, () => {
    beforeEach(silenceLog);

    it('leaves everything in agreement wherever a call fails', FAULTS_TIMEOUT, async ({ annotate }) => {
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
          findings.push(...differences.map((difference) => `${describeFault(fault, calls)}, ${when}: ${difference}`));
        };
        await restore();
        outage.arm(fault);
        await work(world).catch(() => undefined);
        if (outage.hasFailed) failures += 1;
        outage.arm(null);
        await compare('at once');
        await recover(world);
        await compare('in the end');
        try {
          expect(await expectEnd(life, prepared)).toEqual(end);
        } catch (error) {
          findings.push(`${describeFault(fault, calls)}: ${error instanceof Error ? error.message : error}`);
        }
      }
      expect(findings).toEqual([]);
      await annotate(`${calls} calls, ${failures} failures, nothing disagreed`, 'faults');
    });
  });
}

/** Drops what the service logs: a report of so many failures would be too long to read. */
export function silenceLog(): void {
  vi.spyOn(console, 'log').mockImplementation(() => undefined);
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
}

function describeFault({ call, mode }: Fault, calls: number): string {
  return `call ${call} of ${calls} (${mode})`;
}

/** All calls in all modes in an exhaustive run; else samples in different modes, spread over the calls. */
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
  world.env.WEBHOOK_QUEUE = outage.queue(world.webhookQueue.binding);
  world.env.SLOW_WEBHOOK_QUEUE = outage.queue(world.slowWebhookQueue.binding);
  const account = await world.account({ plan: 'enterprise' });
  const agents: Life['agents'] = [await account.agent(), await account.agent()];
  for (const agent of [...agents, await (await world.account()).agent()]) await live(agent);
  await world.sweep();
  for (const agent of agents) await live(agent);
  return { world, outage, bucket, account, agents };
}

/** Everything happens once that can happen to what an agent asks for. */
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

/** Remembers how everything stands; the answer puts it back. */
async function save({ world, bucket }: Life): Promise<() => Promise<void>> {
  const [restoreTables, restoreBucket] = [await saveTables(env.DB), bucket.save()];
  const { now, internet } = world;
  const queues = [world.queue, world.webhookQueue, world.slowWebhookQueue];
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

/** Everything that comes by itself comes, a few times. */
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
