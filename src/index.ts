import { createApp } from './app';
import { type Env, type FileMessage, systemRuntime, type WebhookMessage } from './env';

/** The queues by their names in wrangler.toml. */
const FILE_QUEUE = 'jobs';
const WEBHOOK_QUEUE = 'webhooks';
const SLOW_WEBHOOK_QUEUE = 'webhooks-slow';

const app = createApp(systemRuntime);

// The code of background work is loaded with the first cron or message, so that it does not
// lengthen the start for requests.
const cron = () => import('./background/run-cron');
const fileQueue = () => import('./background/file-queue');
const webhookQueue = () => import('./background/webhook-queue');

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
        const { consumeWebhookQueue } = await webhookQueue();
        const messages = batch as MessageBatch<WebhookMessage>;
        return consumeWebhookQueue(messages, env, systemRuntime, (rest) => context.waitUntil(rest));
      }
      default:
        throw new Error(`nothing consumes the queue ${batch.queue}`);
    }
  },
} satisfies ExportedHandler<Env, FileMessage | WebhookMessage>;
