import { createExecutionContext, createMessageBatch, getQueueResult } from 'cloudflare:test';
import type { WaitUntil } from '../../src/background/consume';
import { consumeDeliveryQueue } from '../../src/background/delivery-queue';
import { consumeFileQueue } from '../../src/background/file-queue';
import type { DeliveryMessage, Env, FileMessage, Runtime } from '../../src/env';
import type { JobSizes } from '../../src/files/job-context';

interface Waiting<M> {
  body: M;
  /** Milliseconds since the epoch. */
  due: number;
}

/** A queue on the world's clock whose messages a test can read, lose, repeat and reorder. */
export class TestQueue<M> {
  waiting: Waiting<M>[] = [];
  /** Whether every call fails. */
  broken = false;

  constructor(private readonly now: () => number) {}

  /** The binding for the service. */
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

  /** Removes and returns the messages that are due, or the first `count` of them. */
  take(count?: number): M[] {
    const due = this.waiting.filter(({ due }) => due <= this.now()).slice(0, count);
    this.waiting = this.waiting.filter((message) => !due.includes(message));
    return due.map(({ body }) => body);
  }
}

/** Delivers messages as one batch; returns which were acknowledged and which are retried. */
export async function deliver(bodies: FileMessage[], env: Env, runtime: Runtime, sizes?: JobSizes) {
  const batch = createMessageBatch<FileMessage>(
    'jobs',
    bodies.map((body, i) => ({ id: `${i}`, timestamp: runtime.now(), attempts: 1, body })),
  );
  const context = createExecutionContext();
  await consumeFileQueue(batch, env, runtime, sizes);
  return getQueueResult(batch, context);
}

/**
 * Delivers a message of a delivery queue, and returns whether it was acknowledged or is retried.
 * @param waitUntil gets the work that outlasts the message; by default all work is awaited
 */
export async function deliverMessage(
  body: DeliveryMessage,
  env: Env,
  runtime: Runtime,
  waitUntil?: WaitUntil,
) {
  const batch = createMessageBatch<DeliveryMessage>('webhooks', [
    { id: '0', timestamp: new Date(runtime.now()), attempts: 1, body },
  ]);
  const context = createExecutionContext();
  await consumeDeliveryQueue(batch, env, runtime, waitUntil);
  return getQueueResult(batch, context);
}
