import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unstable_startWorker as startWorker } from 'wrangler';
import { ROOT } from './project.ts';
import { QUIET_VARIABLES } from './wrangler.ts';

/** Settings for a service that only has to return its OpenAPI document. */
const SETTINGS = {
  ADMIN_TOKEN: 'operator-token-of-the-check',
  ROOT_SECRET: Buffer.alloc(32).toString('base64'),
  PUBLIC_URL: 'https://countersign.test',
};

/** Reads the OpenAPI document from the built Worker. */
async function readDocument(): Promise<string> {
  Object.assign(process.env, { ...QUIET_VARIABLES, ...process.env });
  const bindings = Object.entries(SETTINGS).map(([name, value]) => [name, { type: 'plain_text' as const, value }]);
  const worker = await startWorker({
    config: join(ROOT, 'wrangler.toml'),
    envFiles: [],
    bindings: Object.fromEntries(bindings),
    dev: { server: { port: 0 }, inspector: false, watch: false, persist: false, logLevel: 'error' },
  });
  try {
    const response = await worker.fetch('http://localhost/openapi.json');
    if (!response.ok) throw new Error(`GET /openapi.json is answered ${response.status}: ${await response.text()}`);
    return await response.text();
  } finally {
    await worker.dispose();
  }
}

/** Runs a program from node_modules. Returns its output if it fails, else an empty string. */
function runTool(script: string, options: string[], folder: string): string {
  const environment = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'node_modules', script), ...options], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...environment },
  });
  return status === 0 ? '' : `${stdout}${stderr}\n${script} rejected the OpenAPI document.`;
}

/**
 * Checks the document with a linter, and by compiling a client with the types generated from it. Returns the first
 * failure.
 */
function findFault(document: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'openapi-'));
  try {
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(JSON.parse(document), null, 2));
    copyFileSync(join(import.meta.dirname, 'openapi/client.ts'), join(folder, 'client.ts'));
    const generate = ['openapi.json', '--output', 'api.ts', '--default-non-nullable', 'false'];
    const compile = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', 'client.ts'];
    return (
      runTool('@redocly/cli/bin/cli.js', ['lint', 'openapi.json', '--config', join(ROOT, '.redocly.yaml')], folder) ||
      runTool('openapi-typescript/bin/cli.js', generate, folder) ||
      runTool('typescript/bin/tsc', compile, folder)
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const fault = findFault(await readDocument());
if (fault) console.error(fault);
else console.log('The OpenAPI document passes the linter, and a client with its types compiles.');
process.exitCode = fault ? 1 : 0;
