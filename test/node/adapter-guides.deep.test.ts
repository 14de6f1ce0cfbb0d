import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROOT } from '../../src/dev/project';
import { Client } from '../support/local/client';
import { addPackage, installClient, linkPackages, run } from '../support/local/installed-client';
import { prepareState, type Service, startService } from '../support/local/service';
import { createTenant, type Tenant } from '../support/local/tenant';

const folder = mkdtempSync(join(tmpdir(), 'countersign-adapters-'));
let project: string;
let service: Service;
let tenant: Tenant;
let user: Client;

beforeAll(async () => {
  ({ project } = await installClient(folder));
  linkPackages(project, 'ai', '@openai/agents', 'langchain', '@langchain/core', '@langchain/langgraph', 'zod');
  addPackage(project, '@ai-sdk/openai', AI_SDK_MODEL);
  addPackage(project, '@langchain/openai', LANGCHAIN_MODEL);
  writeFileSync(join(project, 'scripted-agents.mjs'), AGENTS_MODEL);
  await prepareState(folder);
  service = await startService(folder);
  tenant = await createTenant(service.origin, 'team', 1);
  user = new Client(service.origin, tenant.token);
});

afterAll(async () => {
  await service?.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

// The packages of the real models are replaced by models that ask for a refund, and then say what its result was.
const ARGUMENTS = '{ order: "4711", amount: 20 }';

const AI_SDK_MODEL = `
  import { MockLanguageModelV4 } from 'ai/test';
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const call = { type: 'tool-call', toolCallId: 'ai-1', toolName: 'refund', input: JSON.stringify(${ARGUMENTS}) };
  export const openai = () => new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const last = prompt.at(-1);
      return last.role === 'tool'
        ? { content: [{ type: 'text', text: last.content.at(-1).output.value }], finishReason: { unified: 'stop' }, usage, warnings: [] }
        : { content: [call], finishReason: { unified: 'tool-calls' }, usage, warnings: [] };
    },
  });`;

const LANGCHAIN_MODEL = `
  import { AIMessage } from '@langchain/core/messages';
  import { fakeModel } from '@langchain/core/testing';
  export function ChatOpenAI() {
    return fakeModel()
      .respondWithTools([{ name: 'refund', args: ${ARGUMENTS}, id: 'chain-1' }])
      .respond((messages) => new AIMessage(messages.at(-1).text));
  }`;

const AGENTS_MODEL = `
  import { setDefaultModelProvider, setTracingDisabled } from '@openai/agents';
  import { assistantMessage, functionCall, modelResponder, ScriptedModel } from '@openai/agents/testing';
  setTracingDisabled(true);
  const call = functionCall('refund', ${ARGUMENTS}, { callId: 'agents-1' });
  const respond = modelResponder(({ request }) => {
    const result = request.input.findLast?.(({ type }) => type === 'function_call_result');
    return [result ? assistantMessage(result.output.text) : call];
  });
  setDefaultModelProvider({ getModel: () => new ScriptedModel([respond, respond]) });`;

/** Saves the refund that a guide has as an example in a folder of its own. Returns a function that runs it. */
function saveExample(guide: string): () => Promise<string> {
  const text = readFileSync(join(ROOT, `src/docs/guides/${guide}.md`), 'utf8');
  const examples = [...text.matchAll(/^```js\n([\s\S]*?)^```/gm)].map(([, code = '']) => code);
  const example = examples.find((code) => /Refund \$\{amount\} EUR/.test(code)) ?? '';
  expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(40);
  const cwd = join(project, guide);
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'agent.mjs'), example);
  const key = tenant.agents[0]?.key as string;
  const env = { ...process.env, COUNTERSIGN_URL: service.origin, COUNTERSIGN_API_KEY: key };
  const models = join(project, 'scripted-agents.mjs');
  return async () => (await run(process.execPath, ['--import', models, 'agent.mjs'], { cwd, env })).stdout;
}

async function approve(): Promise<void> {
  type Waiting = { data: { id: string; title: string }[] };
  for (const deadline = Date.now() + 60_000; ; ) {
    const { body } = await user.get<Waiting>('/v1/permissions', { status: 'pending' });
    const [waiting] = body.data;
    if (waiting) {
      expect(waiting.title).toBe('Refund 20 EUR for order 4711');
      await user.expect(200, 'POST', `/v1/permissions/${waiting.id}/approve`);
      return;
    }
    if (Date.now() > deadline) throw new Error('The example does not ask.');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const DONE = 'Refunded 20 EUR for order 4711\n';

it.each(['ai-sdk', 'openai-agents', 'guard'])(
  'the example of the guide %s pauses, and goes on when it is run again',
  async (guide) => {
    const runExample = saveExample(guide);
    expect(await runExample()).toBe('Waiting for a decision.\n');
    await approve();
    expect(await runExample()).toBe(DONE);
  },
);

it('the example of the guide langchain is interrupted until there is a decision', async () => {
  const runExample = saveExample('langchain');
  const [output] = await Promise.all([runExample(), approve()]);
  expect(output).toMatch(/^(Waiting for a decision: perm_\w+\n)+Refunded 20 EUR for order 4711\n$/);
});
