import { tool as langChainTool } from '@langchain/core/tools';
import { tool as agentTool, RunContext } from '@openai/agents';
import * as z from 'zod';
import * as aiSdk from '../../../src/packages/client/adapters/ai-sdk.ts';
import * as langChain from '../../../src/packages/client/adapters/langchain.ts';
import * as openAi from '../../../src/packages/client/adapters/openai-agents.ts';
import type { Limits } from '../../../src/packages/client/index.ts';
import { describeGuard } from '../conformance';
import { PAYMENT, type Payment } from '../process';

const parameters = z.object({ amount: z.number(), to: z.string() });

/** What an adapter adds to the last argument of a tool's function. */
const grantedOf = (options: unknown) => (options as { granted: Limits }).granted;

describeGuard('the adapter of the AI SDK', ({ client, act, ...options }) => {
  const execute = (input: Payment, options: unknown) => act(input, grantedOf(options));
  const tool = aiSdk.guardTool(client, { execute }, { ...PAYMENT, ...options, refusals: 'throw' });
  return (input, toolCallId) => tool.execute(input, { toolCallId, messages: [] });
});

describeGuard('the adapter of OpenAI Agents', ({ client, act, ...options }) => {
  const original = agentTool({
    name: 'pay',
    description: 'Pays',
    parameters,
    execute: (input: Payment, _, details) => act(input, grantedOf(details)),
  });
  const tool = openAi.guardTool(client, original, { ...PAYMENT, ...options, refusals: 'throw' });
  return (input, callId) => {
    const text = JSON.stringify(input);
    const toolCall = { type: 'function_call', callId, name: 'pay', arguments: text } as const;
    return tool.invoke(new RunContext(), text, { toolCall });
  };
});

describeGuard('the adapter of LangChain', ({ client, act, ...options }) => {
  const original = langChainTool((input: Payment, config) => act(input, grantedOf(config)), {
    name: 'pay',
    schema: parameters,
  });
  const tool = langChain.guardTool(client, original, { ...PAYMENT, ...options, refusals: 'throw' });
  return (input, id) => tool.invoke({ type: 'tool_call', name: 'pay', id, args: input });
});
