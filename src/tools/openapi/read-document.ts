import { join } from 'node:path';
import { unstable_startWorker as startWorker } from 'wrangler';
import { ROOT } from '../project.ts';
import { QUIET_VARIABLES } from '../wrangler.ts';

/** Settings for a service that only has to return its OpenAPI document. */
const SETTINGS = {
  ADMIN_TOKEN: 'operator-token-of-the-check',
  ROOT_SECRET: Buffer.alloc(32).toString('base64'),
  PUBLIC_URL: 'https://countersign.test',
};

/** Returns the OpenAPI document of the built Worker, as JSON. */
export async function readDocument(): Promise<string> {
  Object.assign(process.env, { ...QUIET_VARIABLES, ...process.env });
  const bindings = Object.entries(SETTINGS).map(([name, value]) => [
    name,
    { type: 'plain_text' as const, value },
  ]);
  const worker = await startWorker({
    config: join(ROOT, 'wrangler.toml'),
    envFiles: [],
    bindings: Object.fromEntries(bindings),
    dev: { server: { port: 0 }, inspector: false, watch: false, persist: false, logLevel: 'error' },
  });
  try {
    const response = await worker.fetch('http://localhost/openapi.json');
    if (!response.ok)
      throw new Error(`GET /openapi.json is answered ${response.status}: ${await response.text()}`);
    return await response.text();
  } finally {
    await worker.dispose();
  }
}
