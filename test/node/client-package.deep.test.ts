import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROOT } from '../../src/tools/project';
import { Client } from '../support/local/client';
import { installClient, linkPackages, run } from '../support/local/installed-client';
import {
  freePort,
  prepareState,
  type Service,
  startService,
  wranglerScript,
} from '../support/local/service';
import { createTenant, type Tenant } from '../support/local/tenant';

/** What a user may write: compiled as TypeScript, run in Node and in workerd. */
const PROGRAM = `
import { Countersign, type Permission } from 'countersign';

/** Runs a guarded function twice under one external id, and lists the requests. */
export async function useGuard(baseUrl: string, apiKey: string, externalId: string): Promise<string[]> {
  const countersign = new Countersign({ baseUrl, apiKey });
  const greet = countersign.guard(async ({ name }: { name: string }) => \`Hello \${name}\`, {
    action: 'greeting.send',
    resource: ({ name }) => \`person:\${name}\`,
  });
  const seen = [await greet({ name: 'Ada' }, { externalId })];
  await greet({ name: 'Ada' }, { externalId }).catch((error) => seen.push(error.code));
  const permissions: Permission[] = [];
  for await (const permission of countersign.listPermissions({ external_id: externalId })) permissions.push(permission);
  return [...seen, ...permissions.map(({ status }) => status)];
}
`;

/** Uses the types of the adapters with those of their frameworks. */
const ADAPTERS = `
import { tool as agentTool } from '@openai/agents';
import { generateText, tool } from 'ai';
import { createAgent, tool as langChainTool } from 'langchain';
import { Countersign } from 'countersign';
import { answerApprovals, responseMessagesOf, type ToolRules, wrapTools } from 'countersign/ai-sdk';
import { guardTool as guardChainTool, wrapTools as wrapChainTools } from 'countersign/langchain';
import { wrapTools as wrapAgentTools } from 'countersign/openai-agents';
import { z } from 'zod';

const countersign = new Countersign();
const schema = z.object({ to: z.string() });
const tools = wrapTools({ send: tool({ inputSchema: schema, execute: ({ to }) => to.length }) }, { tools: { '*': 'ask' } });
export const answer = (messages: Parameters<typeof answerApprovals>[0]) => answerApprovals(messages, { countersign });
export const text = async () => {
  const result = await generateText({ model: 'any', tools, prompt: 'Send' });
  const output: number | undefined = result.staticToolResults[0]?.output;
  const messages = [...responseMessagesOf(result)];
  const rules: ToolRules = { mode: 'suspend', tools: { send: 'ask' } };
  const message = await answerApprovals(messages, rules);
  if (message) await generateText({ model: 'any', tools, messages: [...messages, message] });
  return output;
};
export const agentTools = wrapAgentTools([
  agentTool({ name: 'send', description: 'Sends', parameters: schema, execute: ({ to }) => to }),
]);
const chainTool = langChainTool(({ to }: { to: string }) => to, { name: 'send', schema });
export const agent = createAgent({ model: 'any', tools: wrapChainTools([chainTool]) });
export const guarded = guardChainTool(countersign, chainTool, {
  action: 'mail.send',
  resource: ({ to }) => \`mailbox:\${to}\`,
});
`;

const EXPECTED = ['Hello Ada', 'already_used', 'approved'];

const folder = mkdtempSync(join(tmpdir(), 'countersign-package-'));
let built: string;
let project: string;
let service: Service;
let tenant: Tenant;

beforeAll(async () => {
  ({ built, project } = await installClient(folder));
  linkPackages(
    project,
    '@types/node',
    'undici-types',
    'typescript',
    'zod',
    '@openai/agents',
    'ai',
    'langchain',
  );
  linkPackages(project, '@langchain/core', '@langchain/langgraph');
  await prepareState(folder);
  service = await startService(folder);
  tenant = await createTenant(service.origin, 'team', 1);
  const policy = {
    name: 'Greetings',
    effect: 'approve',
    actions: ['greeting.*'],
    resources: ['person:*'],
  };
  await new Client(service.origin, tenant.token).expect(201, 'POST', '/v1/policies', policy);
});

afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

/** Compiles a file of the project, and returns the compiler's complaints. */
async function compile(name: string, source: string, options: string[]): Promise<string> {
  writeFileSync(join(project, `${name}.ts`), source);
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const strict = [
    '--strict',
    '--exactOptionalPropertyTypes',
    '--target',
    'es2022',
    '--types',
    'node',
  ];
  const files = [`${name}.ts`, '--outDir', 'out', '--ignoreConfig'];
  return run(process.execPath, [compiler, ...files, ...strict, ...options], { cwd: project }).then(
    () => '',
    (error) => error.stdout,
  );
}

it('is a package without a fault that publint or the types checker can find', async () => {
  const publint = await run(process.execPath, [bin('publint/src/cli.js'), '--strict', built]);
  expect(publint.stdout).toContain('All good!');
  const tarball = ['--profile', 'esm-only', '--no-color', '--pack', built];
  const types = await run(process.execPath, [
    bin('@arethetypeswrong/cli/dist/index.js'),
    ...tarball,
  ]);
  // The program ends with another status than 0 when it finds a problem.
  expect(types.stdout).toContain('countersign/langchain');
});

it('has a core of at most 15 KB gzipped', () => {
  const sources = [...modulesOf(join(built, 'index.js'))].map((path) => readFileSync(path));
  expect(gzipSync(Buffer.concat(sources)).length).toBeLessThanOrEqual(15 * 1024);
});

it.each([
  ['nodenext', ['--module', 'nodenext']],
  ['bundler', ['--module', 'esnext', '--moduleResolution', 'bundler']],
])('compiles with the module resolution %s, its types checked too', async (_, options) => {
  expect(await compile('program', PROGRAM, [...options, '--skipLibCheck', 'false'])).toBe('');
  // The frameworks' own types do not pass the check.
  expect(await compile('adapters', ADAPTERS, [...options, '--skipLibCheck'])).toBe('');
});

it.each([process.execPath, join(ROOT, 'node_modules/.bin/node')])(
  'runs in Node: %s',
  async (node) => {
    await compile('program', PROGRAM, ['--module', 'nodenext']);
    const id = `call-${crypto.randomUUID()}`;
    const call = `useGuard(${JSON.stringify(service.origin)}, ${JSON.stringify(agentKey())}, '${id}')`;
    const script = `import { useGuard } from './out/program.js'; console.log(JSON.stringify(await ${call}));`;
    const { stdout } = await run(node, ['--input-type=module', '-e', script], { cwd: project });
    expect(JSON.parse(stdout)).toEqual(EXPECTED);
  },
);

it('runs in workerd', async () => {
  const id = `call-${crypto.randomUUID()}`;
  const source = `import { useGuard } from './program.ts';
    export default { fetch: async () => Response.json(await useGuard('${service.origin}', '${agentKey()}', '${id}')) };`;
  writeFileSync(join(project, 'program.ts'), PROGRAM);
  writeFileSync(join(project, 'worker.ts'), source);
  writeFileSync(
    join(project, 'wrangler.json'),
    '{ "name": "user", "main": "worker.ts", "compatibility_date": "2026-01-01" }',
  );
  const port = await freePort();
  const options = [
    'dev',
    '--port',
    String(port),
    '--inspector-port',
    String(await freePort()),
    '--ip',
    '127.0.0.1',
  ];
  const env = { ...process.env, WRANGLER_SEND_METRICS: 'false', CI: 'true' };
  const worker = spawn(process.execPath, [wranglerScript, ...options], {
    cwd: project,
    env,
    stdio: 'ignore',
  });
  try {
    expect(await answerOf(`http://127.0.0.1:${port}/`)).toEqual(EXPECTED);
  } finally {
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.kill('SIGINT');
    await ended;
  }
});

/** Asks until a program that starts gives its first answer. */
async function answerOf(url: string): Promise<unknown> {
  for (const deadline = Date.now() + 60_000; ; ) {
    const answer = await fetch(url).catch(() => null);
    if (answer) return answer.json();
    if (Date.now() > deadline) throw new Error(`${url} does not answer`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function agentKey(): string {
  return tenant.agents[0]?.key as string;
}

function bin(path: string): string {
  return join(ROOT, 'node_modules', path);
}

/** A module, and all that it imports at once. */
function modulesOf(path: string, found = new Set<string>()): Set<string> {
  if (found.has(path)) return found;
  found.add(path);
  for (const [, imported = ''] of readFileSync(path, 'utf8').matchAll(
    /(?:from|\bimport) ?"(\.[^"]+)"/g,
  )) {
    modulesOf(join(dirname(path), imported), found);
  }
  return found;
}
