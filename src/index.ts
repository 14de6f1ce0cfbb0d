import { createApp } from './app';
import { runCron } from './cron';
import { type Env, systemRuntime } from './env';

const app = createApp(systemRuntime);

export default {
  fetch: app.fetch,
  scheduled: (controller, env) => runCron(controller.cron, env, systemRuntime),
} satisfies ExportedHandler<Env>;
