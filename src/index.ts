import { createApp } from './app';
import { runCron } from './cron';
import { type Env, type JobMessage, systemRuntime } from './env';
import { runJobs } from './jobs';

const app = createApp(systemRuntime);

export default {
  fetch: app.fetch,
  scheduled: (controller, env) => runCron(controller.cron, env, systemRuntime),
  queue: (batch, env) => runJobs(batch, env, systemRuntime),
} satisfies ExportedHandler<Env, JobMessage>;
