import { createApp } from './app';
import { type Env, type JobMessage, systemRuntime, type WebhookMessage } from './env';

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
    if (batch.queue === 'jobs') {
      const { consumeFileQueue } = await fileQueue();
      return consumeFileQueue(batch as MessageBatch<JobMessage>, env, systemRuntime);
    }
    const { consumeWebhookQueue } = await webhookQueue();
    return consumeWebhookQueue(batch as MessageBatch<WebhookMessage>, env, systemRuntime, (rest) =>
      context.waitUntil(rest),
    );
  },
} satisfies ExportedHandler<Env, JobMessage | WebhookMessage>;
