import { describe, expect, it, vi } from 'vitest';
import type { Limits } from '../../src/packages/client/index.ts';
import { depth } from '../support/depth';
import { REPORT_PERIOD } from '../support/outcomes';
import {
  type Json,
  makeAgent,
  type TestAccount,
  type TestAgent,
  type World,
} from '../support/world';
import { type Fault, type Payment, Process, type Runs, type Subject } from './process';

const INPUT: Payment = { amount: 120.5, to: '4711' };
const HOUR = 3_600_000;

/** An account, its agent, and the runs of the act. */
class Stage {
  readonly runs: Runs = [];
  /** How many of them have ended, in a process that lived on. */
  ended = 0;
  readonly callId = `call-${crypto.randomUUID()}`;

  constructor(
    readonly subject: Subject,
    readonly world: World,
    readonly account: TestAccount,
    readonly agent: TestAgent,
  ) {}

  start(options: { fault?: Fault; maxRetries?: number } = {}): Process {
    return new Process(this.world, this.agent.key, options);
  }

  call(
    process: Process,
    { input = INPUT, callId = this.callId, mode = 'wait', fits, during }: CallSettings = {},
  ) {
    const act = async (input: Payment, granted: Limits) => {
      this.runs.push({ input, granted });
      await during?.(process);
      this.ended += 1;
      return `paid ${input.amount}`;
    };
    return process.call(this.subject, { act, mode, ...(fits && { fits }) }, input, callId);
  }

  /** The request that waits, as a person reads it. */
  async waiting(): Promise<Json> {
    return (await this.account.must(200, 'GET', '/v1/permissions?status=pending')).body.data[0];
  }

  async decide(decision: 'approve' | 'deny', body: object = {}): Promise<void> {
    const waiting = await this.waiting();
    await this.account.must(200, 'POST', `/v1/permissions/${waiting.id}/${decision}`, body);
  }

  /** Has a person approve as soon as an agent waits. */
  approveWhileWaiting(): void {
    this.world.whileAsleep = async () => {
      if (await this.waiting()) await this.decide('approve');
    };
  }

  /** Checks that every run has an approval of its own, for exactly its input, whose use it took. */
  async checkRuns(): Promise<void> {
    const { body } = await this.agent.must(200, 'GET', '/v1/permissions?status=approved');
    const used = [];
    for (const { id } of body.data) {
      const { body: permission } = await this.agent.must(200, 'GET', `/v1/permissions/${id}`);
      if (permission.token.uses > 0)
        used.push({ input: permission.input, granted: permission.granted_scope });
    }
    for (const run of this.runs) {
      const match = used.findIndex((one) => JSON.stringify(one) === JSON.stringify(run));
      expect(match, 'an approval that covers the run').toBeGreaterThanOrEqual(0);
      used.splice(match, 1);
    }
  }

  /**
   * Checks that ten minutes later every use has one of three outcomes, and none succeeded whose run
   * did not end.
   * @returns the outcomes
   */
  async checkOutcomes(): Promise<string[]> {
    this.world.advance(REPORT_PERIOD);
    const { body } = await this.agent.must(200, 'GET', '/v1/permissions?status=approved&limit=100');
    const used = body.data.filter(({ token }: Json) => token.uses > 0);
    const outcomes: string[] = used.map(({ outcome }: Json) => outcome.status);
    for (const outcome of outcomes) expect(['succeeded', 'failed', 'unknown']).toContain(outcome);
    const succeeded = outcomes.filter((outcome) => outcome === 'succeeded');
    expect(succeeded.length).toBeLessThanOrEqual(this.ended);
    return outcomes;
  }
}

interface CallSettings {
  input?: Payment;
  callId?: string;
  mode?: 'wait' | 'suspend';
  fits?: (input: Payment, granted: Limits) => boolean;
  /** Called while the act runs. */
  during?: (process: Process) => Promise<unknown>;
}

/**
 * What every guarded call has to hold, whatever guards it: never two runs, never a run without an
 * approval that covers it, never a lost approval.
 */
export function describeGuard(name: string, subject: Subject): void {
  async function stage(): Promise<Stage> {
    const { world, account, agent } = await makeAgent();
    return new Stage(subject, world, account, agent);
  }

  describe(`a call that ${name} guards`, () => {
    it('runs once, with the approved input and the granted limits', async () => {
      const scene = await stage();
      scene.approveWhileWaiting();
      expect(await scene.call(scene.start())).toBe('done');
      expect(scene.runs).toEqual([{ input: INPUT, granted: { amount: 500 } }]);
      await scene.checkRuns();
      expect(await scene.checkOutcomes()).toEqual(['succeeded']);
    });

    it('runs at once when a policy approves, and binds the input to the use', async () => {
      const scene = await stage();
      const policy = {
        name: 'Payments',
        effect: 'approve',
        actions: ['payment.*'],
        resources: ['account:*'],
      };
      await scene.account.must(201, 'POST', '/v1/policies', policy);
      expect(await scene.call(scene.start())).toBe('done');
      await scene.checkRuns();
      const [request] = await scene.account.log('&event_type=request');
      expect(request.details.input_digest).toMatch(/^sha-256:/);
    });

    it.each<[string, (scene: Stage) => Promise<unknown>, string]>([
      ['is denied', (scene) => scene.decide('deny', { reason: 'Too much' }), 'permission_denied'],
      ['expires', async ({ world }) => world.advance(8 * 24 * HOUR), 'permission_expired'],
      [
        'is withdrawn',
        async (scene) =>
          scene.agent.must(200, 'POST', `/v1/permissions/${(await scene.waiting()).id}/withdraw`),
        'permission_expired',
      ],
      [
        'is approved, and the approval runs out',
        async (scene) => {
          await scene.decide('approve', { token_ttl: 30 });
          scene.world.advance(31_000);
        },
        'permission_lapsed',
      ],
      [
        'is approved, and the approval is revoked',
        async (scene) => {
          const { id } = await scene.waiting();
          await scene.decide('approve');
          const { body } = await scene.account.must(200, 'GET', `/v1/permissions/${id}`);
          await scene.account.must(200, 'POST', '/v1/tokens/revoke', { token_id: body.token.id });
        },
        'permission_denied',
      ],
    ])('does not run when the request %s', async (_, happen, code) => {
      const scene = await stage();
      expect(await scene.call(scene.start(), { mode: 'suspend' })).toBe('permission_pending');
      await happen(scene);
      expect(await scene.call(scene.start(), { mode: 'suspend' })).toBe(code);
      expect(scene.runs).toEqual([]);
    });

    it('does not run while the account is stopped, and finds its request again afterwards', async () => {
      const scene = await stage();
      const stop = () => scene.account.must(200, 'POST', '/v1/me/stop', {});
      const resume = () => scene.account.must(200, 'POST', '/v1/me/resume', {});
      const call = () => scene.call(scene.start(), { mode: 'suspend' });
      await stop();
      expect(await call()).toBe('account_stopped');
      await resume();
      expect(await call()).toBe('permission_pending');
      await scene.decide('approve');
      await stop();
      expect(await call()).toBe('account_stopped');
      await resume();
      expect(await call()).toBe('done');
      await scene.checkRuns();
      expect(scene.runs).toHaveLength(1);
    });

    it('does not run when the account is stopped while it waits, right after the approval', async () => {
      const scene = await stage();
      scene.world.whileAsleep = async () => {
        if (!(await scene.waiting())) return;
        await scene.decide('approve');
        await scene.account.must(200, 'POST', '/v1/me/stop', {});
      };
      expect(await scene.call(scene.start())).toBe('account_stopped');
      expect(scene.runs).toEqual([]);
    });

    it('runs in another process when the decision comes after 30 hours', async () => {
      const scene = await stage();
      expect(await scene.call(scene.start(), { mode: 'suspend' })).toBe('permission_pending');
      scene.world.advance(30 * HOUR);
      expect(await scene.call(scene.start(), { mode: 'suspend' })).toBe('permission_pending');
      await scene.decide('approve');
      scene.world.advance(30 * HOUR);
      expect(await scene.call(scene.start(), { mode: 'suspend' })).toBe('done');
      expect(await scene.call(scene.start(), { mode: 'suspend' })).toBe('already_used');
      expect(scene.runs).toHaveLength(1);
      await scene.checkRuns();
    });

    it('does not run when the input changed by one byte after the approval', async () => {
      const scene = await stage();
      await scene.call(scene.start(), { mode: 'suspend' });
      await scene.decide('approve');
      for (const input of [
        { ...INPUT, amount: 120.6 },
        { ...INPUT, to: '4712' },
      ]) {
        expect(await scene.call(scene.start(), { mode: 'suspend', input })).toBe('input_changed');
      }
      expect(scene.runs).toEqual([]);
      expect(await scene.call(scene.start(), { mode: 'suspend' })).toBe('done');
    });

    it('runs with the input that was approved when the caller changes its object meanwhile', async () => {
      const scene = await stage();
      const input = { ...INPUT };
      scene.world.whileAsleep = async () => {
        input.amount = 1_000_000;
        if (await scene.waiting()) await scene.decide('approve');
      };
      expect(await scene.call(scene.start(), { input })).toBe('done');
      expect(scene.runs.map((run) => run.input)).toEqual([INPUT]);
    });

    it.each<[string, CallSettings['fits'], string]>([
      ['nothing says that the input fits', undefined, 'grant_narrowed'],
      [
        'the input does not fit',
        (input, granted) => input.amount <= Number(granted.amount),
        'grant_narrowed',
      ],
      ['fits answers something else than true', () => 1 as unknown as boolean, 'grant_narrowed'],
    ])('does not run when the limits were narrowed and %s', async (_, fits, code) => {
      const scene = await stage();
      await scene.call(scene.start(), { mode: 'suspend' });
      await scene.decide('approve', { scope: { amount: 100 } });
      expect(await scene.call(scene.start(), { mode: 'suspend', ...(fits && { fits }) })).toBe(
        code,
      );
      expect(scene.runs).toEqual([]);
    });

    it('runs with narrowed limits in which the input fits', async () => {
      const scene = await stage();
      await scene.call(scene.start(), { mode: 'suspend' });
      await scene.decide('approve', { scope: { amount: 200 } });
      const fits = (input: Payment, granted: Limits) => input.amount <= Number(granted.amount);
      expect(await scene.call(scene.start(), { mode: 'suspend', fits })).toBe('done');
      expect(scene.runs).toEqual([{ input: INPUT, granted: { amount: 200 } }]);
      await scene.checkRuns();
    });

    it('runs in exactly one of ten processes that resume the same request at once', async () => {
      const scene = await stage();
      await scene.call(scene.start(), { mode: 'suspend' });
      await scene.decide('approve');
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, () => scene.call(scene.start(), { mode: 'suspend' })),
      );
      expect(outcomes.sort()).toEqual([...Array(9).fill('already_used'), 'done']);
      expect(scene.runs).toHaveLength(1);
    });

    describe('when something goes wrong', () => {
      /** The requests of a call that a person approves: ask, read, use, report. */
      const REQUESTS = [
        'POST /v1/permissions',
        'GET /v1/permissions/:id',
        'POST /v1/tokens/use',
        'POST /v1/permissions/:id/outcome',
      ];
      const faults = REQUESTS.flatMap((name, request) =>
        (['before', 'after'] as const).map((when) => ({ name, request, when })),
      );

      it('has four requests that can fail', async () => {
        const scene = await stage();
        scene.approveWhileWaiting();
        const process = scene.start();
        await scene.call(process);
        expect(process.requests).toEqual(REQUESTS);
      });

      it.each(faults)(
        'runs once when the network fails once $when $name',
        async ({ request, when }) => {
          const scene = await stage();
          scene.approveWhileWaiting();
          const process = scene.start({ fault: { request, when, how: 'fails' }, maxRetries: 1 });
          expect(await scene.call(process)).toBe('done');
          expect(scene.runs).toHaveLength(1);
          await scene.checkRuns();
          // A report that fails is sent again in the background.
          const [permission] = (await scene.agent.must(200, 'GET', '/v1/permissions')).body.data;
          const read = () => scene.agent.must(200, 'GET', `/v1/permissions/${permission.id}`);
          await vi.waitFor(async () =>
            expect((await read()).body.outcome.status).toBe('succeeded'),
          );
        },
      );

      it('runs once when the service comes back after the answer to the use and all retries were lost', async () => {
        const scene = await stage();
        scene.approveWhileWaiting();
        const process = scene.start({ fault: { request: 2, when: 'after', how: 'fails' } });
        expect(await scene.call(process)).toBe('done');
        expect(scene.runs).toHaveLength(1);
        await scene.checkRuns();
      });

      it.each(faults)(
        'goes on in another process after it was killed $when $name',
        async ({ request, when }) => {
          const scene = await stage();
          scene.approveWhileWaiting();
          expect(await scene.call(scene.start({ fault: { request, when, how: 'dies' } }))).toBe(
            'killed',
          );
          const hasRun = request === 3;
          expect(scene.runs).toHaveLength(hasRun ? 1 : 0);
          // The service cannot tell a process that died before the act from one that died after it.
          const isUsed = hasRun || (request === 2 && when === 'after');
          expect(await scene.call(scene.start())).toBe(isUsed ? 'already_used' : 'done');
          expect(await scene.call(scene.start())).toBe('already_used');
          expect(scene.runs).toHaveLength(isUsed && !hasRun ? 0 : 1);
          await scene.checkRuns();
          const isReported = !isUsed || (hasRun && when === 'after');
          expect(await scene.checkOutcomes()).toEqual([isReported ? 'succeeded' : 'unknown']);
        },
      );

      it.each([faults[0], faults[1], faults[4], faults[5]].filter((fault) => fault !== undefined))(
        'does not run when no attempt succeeds $when $name, and goes on later',
        async ({ request, when }) => {
          const scene = await stage();
          scene.approveWhileWaiting();
          expect(await scene.call(scene.start({ fault: { request, when, how: 'all fail' } }))).toBe(
            'unreachable',
          );
          expect(scene.runs).toEqual([]);
          const isUsed = request === 2 && when === 'after';
          expect(await scene.call(scene.start())).toBe(isUsed ? 'already_used' : 'done');
          expect(scene.runs).toHaveLength(isUsed ? 0 : 1);
        },
      );

      it('does not run a second time after it was killed while it ran', async () => {
        const scene = await stage();
        scene.approveWhileWaiting();
        expect(await scene.call(scene.start(), { during: (process) => process.die() })).toBe(
          'killed',
        );
        expect(await scene.call(scene.start())).toBe('already_used');
        expect(scene.runs).toHaveLength(1);
        expect(await scene.checkOutcomes()).toEqual(['unknown']);
      });

      it('never runs twice, nor without an approval, in a random course of events', async () => {
        for (let run = 0; run < depth.runs(1, 40); run++) await walk(await stage());
      });
    });
  });
}

/** Lets processes start, fail and die while a person decides and time passes, in a random order. */
async function walk(scene: Stage): Promise<void> {
  const random = (below: number) => Math.floor(Math.random() * below);
  const pick = <T>(...options: T[]) => options[random(options.length)] as T;
  const fits = (input: Payment, granted: Limits) => input.amount <= Number(granted.amount);
  for (let step = 0; step < 12; step++) {
    const waiting = await scene.waiting();
    const happen = pick(
      async () => {
        const fault = pick(undefined, {
          request: random(4),
          when: pick('before', 'after'),
          how: pick('fails', 'dies'),
        } as const);
        const process = scene.start({ ...(fault && { fault }), maxRetries: random(2) });
        const input = random(5) ? INPUT : { ...INPUT, amount: 121 };
        await scene.call(process, { mode: 'suspend', input, ...(random(2) && { fits }) });
      },
      async () =>
        waiting && scene.decide('approve', pick({}, { scope: { amount: pick(100, 200) } })),
      async () => waiting && random(3) === 0 && scene.decide('deny'),
      async () => scene.world.advance(random(30) * HOUR),
    );
    await happen();
  }
  const approved = await scene.agent.must(200, 'GET', '/v1/permissions?status=approved');
  expect(scene.runs.length).toBeLessThanOrEqual(approved.body.data.length ? 1 : 0);
  await scene.checkRuns();
  await scene.checkOutcomes();
}
