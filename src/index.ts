import { createApp } from './app';
import { type DeliveryMessage, type Env, type FileMessage, systemRuntime } from './env';

// The queues, by the names that they are deployed under. `Env` in env.ts has their bindings.

/** Work on files; bound as `JOB_QUEUE`. */
const FILE_QUEUE = 'jobs';
/** Deliveries to receivers of every kind; bound as `WEBHOOK_QUEUE`. */
const DELIVERY_QUEUE = 'webhooks';
/** Deliveries to slow receivers; bound as `SLOW_WEBHOOK_QUEUE`. */
const SLOW_DELIVERY_QUEUE = 'webhooks-slow';

const app = createApp(systemRuntime);

// The code of background work is loaded with the first cron or message, so that it does not
// lengthen the start for requests.
const cron = () => import('./background/run-cron');
const fileQueue = () => import('./background/file-queue');
const deliveryQueue = () => import('./background/delivery-queue');

export default {
  fetch: app.fetch,
  scheduled: async (controller, env) => (await cron()).runCron(controller.cron, env, systemRuntime),
  async queue(batch, env, context) {
    switch (batch.queue) {
      case FILE_QUEUE: {
        const { consumeFileQueue } = await fileQueue();
        return consumeFileQueue(batch as MessageBatch<FileMessage>, env, systemRuntime);
      }
      case DELIVERY_QUEUE:
      case SLOW_DELIVERY_QUEUE: {
        const { consumeDeliveryQueue } = await deliveryQueue();
        const messages = batch as MessageBatch<DeliveryMessage>;
        return consumeDeliveryQueue(messages, env, systemRuntime, (rest) =>
          context.waitUntil(rest),
        );
      }
      default:
        throw new Error(`nothing consumes the queue ${batch.queue}`);
    }
  },
} satisfies ExportedHandler<Env, FileMessage | DeliveryMessage>;
