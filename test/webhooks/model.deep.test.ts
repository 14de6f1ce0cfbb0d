import fc from 'fast-check';
import { expect, it } from 'vitest';
import { deliverMessage } from '../support/queue';
import {
  listDeliveries,
  makeWebhook,
  readDelivery,
  type TestWebhook,
  verify,
} from '../support/webhooks';
import { type TestAccount, type TestAgent, World } from '../support/world';

/** A step of a random run: a request, a change of a webhook, or a fault of a queue message. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('request' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('make' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('switch' as const), which: fc.nat(4) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('break' as const), which: fc.nat(4), times: fc.nat(2) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('deliver' as const),
      at: fc.nat(20),
      again: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('drop' as const), at: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('together' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), seconds: fc.nat(400) }) },
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** A webhook in the model. */
interface ModelWebhook extends TestWebhook {
  isActive: boolean;
  /** Entries since the webhook was last enabled, all of which must arrive. */
  owed: string[];
  /** Entries from before it was last enabled, which may have arrived. */
  possible: string[];
  /** How many of its next answers fail. */
  failures: number;
}

class Run {
  readonly webhooks: ModelWebhook[] = [];

  constructor(
    private readonly account: TestAccount,
    private readonly agent: TestAgent,
  ) {}

  static async start(): Promise<Run> {
    const world = new World();
    const account = await world.account();
    const run = new Run(account, await account.agent());
    await run.make();
    return run;
  }

  private get queues() {
    const { deliveryQueue, slowDeliveryQueue } = this.account.world;
    return [deliveryQueue, slowDeliveryQueue];
  }

  async take(step: Step): Promise<void> {
    const { account, agent } = this;
    const { world } = account;
    if (step.do === 'request') {
      const { id } = await agent.request({ expires_in: 7 * 86_400 });
      for (const webhook of this.webhooks) if (webhook.isActive) webhook.owed.push(id);
    } else if (step.do === 'make') {
      if (this.webhooks.length < 5) await this.make();
    } else if (step.do === 'switch') {
      await this.switch(this.pick(step.which));
    } else if (step.do === 'break') {
      this.pick(step.which).failures += step.times;
    } else if (step.do === 'drop') {
      for (const queue of this.queues)
        queue.waiting.splice(step.at % (queue.waiting.length || 1), 1);
    } else if (step.do === 'deliver') {
      const all = this.queues.flatMap(({ waiting }) => waiting);
      const message = all[step.at % (all.length || 1)];
      if (!message) return;
      if (!step.again) {
        for (const queue of this.queues)
          queue.waiting = queue.waiting.filter((other) => other !== message);
      }
      await deliverMessage(message.body, world.env, world.runtime);
    } else if (step.do === 'together') {
      const bodies = this.queues.flatMap((queue) => queue.take());
      await Promise.all(
        [...bodies, ...bodies.toReversed()].map((body) =>
          deliverMessage(body, world.env, world.runtime),
        ),
      );
    } else {
      world.advance(step.seconds * 1_000);
      await world.sweep();
    }
  }

  async end(): Promise<void> {
    const { world } = this.account;
    for (const webhook of this.webhooks) webhook.failures = 0;
    for (let i = 0; i < 12; i++) {
      world.advance(10 * 60_000);
      await world.sweep();
      await world.deliver();
    }
    for (const webhook of this.webhooks) await this.check(webhook);
  }

  private async check(webhook: ModelWebhook): Promise<void> {
    const { account } = this;
    const arrived = new Map<string, string>();
    for (const { headers, body } of account.world.internet.sentTo(webhook.host)) {
      const permission = JSON.parse(body).data.permission_request_id;
      const id = headers.get('webhook-id') ?? '';
      // All messages of an entry have the id of its one delivery.
      expect(arrived.get(permission) ?? id).toBe(id);
      arrived.set(permission, id);
    }
    expect(new Set(arrived.values()).size).toBe(arrived.size);
    const deliveries = await listDeliveries(account, webhook);
    const succeeded: string[] = [];
    for (const { id, status } of deliveries) {
      const { payload } = await readDelivery(account, webhook, id);
      expect(status).not.toBe('pending');
      if (status === 'succeeded') succeeded.push(payload.data.permission_request_id);
    }
    expect(new Set(succeeded).size).toBe(succeeded.length);
    if (webhook.isActive) expect(succeeded).toEqual(expect.arrayContaining(webhook.owed));
    for (const permission of arrived.keys())
      expect([...webhook.owed, ...webhook.possible]).toContain(permission);
  }

  private pick(which: number): ModelWebhook {
    return this.webhooks[which % this.webhooks.length] as ModelWebhook;
  }

  private async make(): Promise<void> {
    const { account } = this;
    const { world } = account;
    const made = await makeWebhook(account, { events: ['audit.created'] });
    const webhook: ModelWebhook = { ...made, isActive: true, owed: [], possible: [], failures: 0 };
    this.webhooks.push(webhook);
    world.internet.on(webhook.host, (received) => {
      verify(webhook.secret, received, world.now);
      if (webhook.failures === 0) return new Response();
      webhook.failures -= 1;
      return new Response(null, { status: 503 });
    });
  }

  private async switch(webhook: ModelWebhook): Promise<void> {
    webhook.isActive = !webhook.isActive;
    webhook.possible.push(...webhook.owed.splice(0));
    await this.account.must(200, 'PUT', `/v1/webhooks/${webhook.id}`, {
      is_active: webhook.isActive,
    });
  }
}

it('every entry arrives at least once and has one delivery when queue messages are lost, repeated or concurrent', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }),
      async (steps) => {
        const run = await Run.start();
        for (const step of steps) await run.take(step);
        await run.end();
      },
    ),
    { numRuns: 25 },
  );
});
