import { createExecutionContext, createMessageBatch, getQueueResult } from 'cloudflare:test';
import type { WaitUntil } from '../../src/background/consume';
import { consumeFileQueue } from '../../src/background/file-queue';
import { consumeWebhookQueue } from '../../src/background/webhook-queue';
import type { Env, JobMessage, Runtime, WebhookMessage } from '../../src/env';
import type { JobSizes } from '../../src/files/job';

interface Waiting<M> {
  body: M;
  /** Milliseconds since the epoch. */
  due: number;
}

/** A queue by the world's clock, which a test can look into, lose, repeat and reorder. */
export class TestQueue<M> {
  waiting: Waiting<M>[] = [];
  /** Fails every call. */
  broken = false;

  constructor(private readonly now: () => number) {}

  /** The queue as the service gets it. */
  get binding(): Queue<M> {
    const add = (body: M, delay = 0) => {
      if (this.broken) throw new Error('Queue send failed: Internal Server Error');
      this.waiting.push({ body, due: this.now() + delay * 1_000 });
    };
    return {
      send: async (body: M, options?: QueueSendOptions) => add(body, options?.delaySeconds),
      sendBatch: async (messages: Iterable<MessageSendRequest<M>>) => {
        for (const { body, delaySeconds } of messages) add(body, delaySeconds);
      },
    } as unknown as Queue<M>;
  }

  /** Takes the messages that are due, or the first few of them. */
  take(count?: number): M[] {
    const due = this.waiting.filter(({ due }) => due <= this.now()).slice(0, count);
    this.waiting = this.waiting.filter((message) => !due.includes(message));
    return due.map(({ body }) => body);
  }
}

/** Delivers messages as one batch; answers which were acknowledged and which are to come again. */
export async function deliver(bodies: JobMessage[], env: Env, runtime: Runtime, sizes?: JobSizes) {
  const batch = createMessageBatch<JobMessage>(
    'jobs',
    bodies.map((body, i) => ({ id: `${i}`, timestamp: runtime.now(), attempts: 1, body })),
  );
  const context = createExecutionContext();
  await consumeFileQueue(batch, env, runtime, sizes);
  return getQueueResult(batch, context);
}

/**
 * Delivers a message of a queue of webhooks, and returns whether it was acknowledged or is retried.
 * @param waitUntil takes over work that outlasts the message; without it all work is waited for
 */
export async function deliverMessage(body: WebhookMessage, env: Env, runtime: Runtime, waitUntil?: WaitUntil) {
  const batch = createMessageBatch<WebhookMessage>('webhooks', [
    { id: '0', timestamp: new Date(runtime.now()), attempts: 1, body },
  ]);
  const context = createExecutionContext();
  await consumeWebhookQueue(batch, env, runtime, waitUntil);
  return getQueueResult(batch, context);
}
