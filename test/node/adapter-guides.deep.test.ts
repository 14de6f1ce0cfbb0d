import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROOT } from '../../src/tools/project';
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
  linkPackages(
    project,
    'ai',
    '@openai/agents',
    'langchain',
    '@langchain/core',
    '@langchain/langgraph',
    'zod',
  );
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

// The packages of the real models are replaced by models that ask for two refunds, one after the
// other, and then say what the result of the second one was.
const ARGUMENTS = '{ order: "4711", amount: 20 }';

const AI_SDK_MODEL = `
  import * as testing from 'ai/test';
  const Model = testing.MockLanguageModelV4 ?? testing.MockLanguageModelV3;
  const version = testing.MockLanguageModelV4 ? 7 : 6;
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  export const openai = () => new Model({
    doGenerate: async ({ prompt }) => {
      const results = prompt.flatMap(({ content }) => content).filter(({ type }) => type === 'tool-result');
      if (results.length === 2) {
        const content = [{ type: 'text', text: results[1].output.value }];
        return { content, finishReason: { unified: 'stop' }, usage, warnings: [] };
      }
      const toolCallId = 'ai-' + version + '-' + results.length;
      const call = { type: 'tool-call', toolCallId, toolName: 'refund', input: JSON.stringify(${ARGUMENTS}) };
      return { content: [call], finishReason: { unified: 'tool-calls' }, usage, warnings: [] };
    },
  });`;

const LANGCHAIN_MODEL = `
  import { AIMessage } from '@langchain/core/messages';
  import { fakeModel } from '@langchain/core/testing';
  export function ChatOpenAI() {
    return fakeModel()
      .respondWithTools([{ name: 'refund', args: ${ARGUMENTS}, id: 'chain-1' }])
      .respondWithTools([{ name: 'refund', args: ${ARGUMENTS}, id: 'chain-2' }])
      .respond((messages) => new AIMessage(messages.at(-1).text));
  }`;

const AGENTS_MODEL = `
  import { setDefaultModelProvider, setTracingDisabled } from '@openai/agents';
  import { assistantMessage, functionCall, modelResponder, ScriptedModel } from '@openai/agents/testing';
  setTracingDisabled(true);
  const respond = modelResponder(({ request }) => {
    const results = Array.isArray(request.input) ? request.input.filter(({ type }) => type === 'function_call_result') : [];
    if (results.length === 2) return [assistantMessage(results[1].output.text)];
    return [functionCall('refund', ${ARGUMENTS}, { callId: 'agents-' + results.length })];
  });
  setDefaultModelProvider({ getModel: () => new ScriptedModel([respond, respond, respond]) });`;

/**
 * Saves the refund that a guide has as an example in a folder of its own. Returns a function that
 * runs it.
 * @param folder a name for the folder in the project
 */
function saveExample(guide: string, folder = guide): () => Promise<string> {
  const text = readFileSync(join(ROOT, `src/docs/guides/${guide}.md`), 'utf8');
  const examples = [...text.matchAll(/^```js\n([\s\S]*?)^```/gm)].map(([, code = '']) => code);
  const example = examples.find((code) => /Refund \$\{amount\} EUR/.test(code)) ?? '';
  expect(example.trimEnd().split('\n').length).toBeLessThanOrEqual(40);
  const cwd = join(project, folder);
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(cwd, 'agent.mjs'), example);
  const key = tenant.agents[0]?.key as string;
  const env = { ...process.env, COUNTERSIGN_URL: service.origin, COUNTERSIGN_API_KEY: key };
  const models = join(project, 'scripted-agents.mjs');
  return async () =>
    (await run(process.execPath, ['--import', models, 'agent.mjs'], { cwd, env })).stdout;
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

/** Expects that an example waits for each of its decisions, and then is done. */
async function expectPauses(runExample: () => Promise<string>, decisions: number): Promise<void> {
  for (let decision = 0; decision < decisions; decision++) {
    expect(await runExample()).toBe('Waiting for a decision.\n');
    await approve();
  }
  expect(await runExample()).toBe(DONE);
}

it.each([
  ['ai-sdk', 2],
  ['openai-agents', 2],
  ['guard', 1],
])(
  'the example of the guide %s pauses %i times, and goes on when it is run again',
  (guide, decisions) => expectPauses(saveExample(guide), decisions),
);

it('the example of the guide ai-sdk does so with version 6, too', async () => {
  // The client and the model are resolved from the folder too, so that they come with the same
  // version.
  const folder = 'version-6';
  for (const name of ['countersign', '@ai-sdk/openai', 'zod']) {
    cpSync(join(project, 'node_modules', name), join(project, folder, 'node_modules', name), {
      recursive: true,
      dereference: true,
    });
  }
  symlinkSync(join(ROOT, 'node_modules/ai-6'), join(project, folder, 'node_modules/ai'));
  await expectPauses(saveExample('ai-sdk', folder), 2);
});

it('the example of the guide langchain is interrupted until there is a decision', async () => {
  const runExample = saveExample('langchain');
  const [output] = await Promise.all([runExample(), approve().then(approve)]);
  expect(output).toMatch(/^(Waiting for a decision: perm_\w+\n)+Refunded 20 EUR for order 4711\n$/);
});
