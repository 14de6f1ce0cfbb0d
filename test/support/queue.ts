import { createExecutionContext, createMessageBatch, getQueueResult } from 'cloudflare:test';
import type { Env, JobMessage, Runtime } from '../../src/env';
import type { JobSizes } from '../../src/files/job';
import { runJobs } from '../../src/jobs';

interface Waiting {
  body: JobMessage;
  /** Milliseconds since the epoch. */
  due: number;
}

/** A queue of jobs by the world's clock, which a test can look into, lose, repeat and reorder. */
export class TestQueue {
  waiting: Waiting[] = [];
  /** Fails every call. */
  broken = false;

  constructor(private readonly now: () => number) {}

  /** The queue as the service gets it. */
  get binding(): Queue<JobMessage> {
    const add = (body: JobMessage, delay = 0) => {
      if (this.broken) throw new Error('Queue send failed: Internal Server Error');
      this.waiting.push({ body, due: this.now() + delay * 1_000 });
    };
    return {
      send: async (body: JobMessage, options?: QueueSendOptions) => add(body, options?.delaySeconds),
      sendBatch: async (messages: Iterable<MessageSendRequest<JobMessage>>) => {
        for (const { body, delaySeconds } of messages) add(body, delaySeconds);
      },
    } as unknown as Queue<JobMessage>;
  }

  /** Takes the messages that are due. */
  take(): JobMessage[] {
    const due = this.waiting.filter(({ due }) => due <= this.now());
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
  await runJobs(batch, env, runtime, sizes);
  return getQueueResult(batch, context);
}
