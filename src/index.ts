import { createApp } from './app';
import { consumeFileQueue } from './background/file-queue';
import { runCron } from './background/run-cron';
import { consumeWebhookQueue } from './background/webhook-queue';
import { type Env, type JobMessage, systemRuntime, type WebhookMessage } from './env';

const app = createApp(systemRuntime);

export default {
  fetch: app.fetch,
  scheduled: (controller, env) => runCron(controller.cron, env, systemRuntime),
  queue: (batch, env, context) =>
    batch.queue === 'jobs'
      ? consumeFileQueue(batch as MessageBatch<JobMessage>, env, systemRuntime)
      : consumeWebhookQueue(batch as MessageBatch<WebhookMessage>, env, systemRuntime, (rest) =>
          context.waitUntil(rest),
        ),
} satisfies ExportedHandler<Env, JobMessage | WebhookMessage>;
