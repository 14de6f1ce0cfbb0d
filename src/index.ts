import { createApp } from './app';
import { type DeliveryMessage, type Env, type FileMessage, systemRuntime } from './env';

/** The queues by their names in wrangler.toml. */
const FILE_QUEUE = 'jobs';
const WEBHOOK_QUEUE = 'webhooks';
const SLOW_WEBHOOK_QUEUE = 'webhooks-slow';

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
      case WEBHOOK_QUEUE:
      case SLOW_WEBHOOK_QUEUE: {
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
