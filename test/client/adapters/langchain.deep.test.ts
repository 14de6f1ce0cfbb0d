import { AsyncLocalStorage } from 'node:async_hooks';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons';
import { fakeModel } from '@langchain/core/testing';
import { tool } from '@langchain/core/tools';
import { Command, MemorySaver } from '@langchain/langgraph';
import { createAgent } from 'langchain';
import { expect, it } from 'vitest';
import * as z from 'zod';
import {
  guardTool,
  type ToolRules,
  wrapTools,
} from '../../../src/packages/client/adapters/langchain.ts';
import { PAYMENT, type Payment } from '../process';
import { HOUR, LONE_SURROGATE, makeStage, PAYMENT_ARGS, refusal, TOO_LARGE } from './stage';

// What LangGraph does by itself in Node.
AsyncLocalStorageProviderSingleton.initializeGlobalInstance(new AsyncLocalStorage());

const schema = z.object({ amount: z.number(), to: z.string() });
const START = { messages: [new HumanMessage('Pay')] };
const THREAD = { configurable: { thread_id: 'thread 1' } };

interface RunOptions extends Omit<ToolRules<never>, 'run'> {
  /** The arguments of the model's calls of `pay`, which it makes at once. */
  calls?: object[];
  hasCheckpointer?: boolean;
}

async function makeRun({
  calls = [PAYMENT_ARGS],
  hasCheckpointer = true,
  ...rules
}: RunOptions = {}) {
  const stage = await makeStage();
  const original = tool((input: Payment) => stage.pay(input), { name: 'pay', schema });
  const checkpointer = new MemorySaver();
  /** An agent of a new process: only the checkpoints are the same. */
  const makeAgent = () => {
    const toolCalls = calls.map((args, index) => ({ name: 'pay', args, id: `call_${index + 1}` }));
    const answer = (messages: unknown[]) =>
      ToolMessage.isInstance(messages.at(-1))
        ? new AIMessage('Bye')
        : new AIMessage({ content: '', tool_calls: toolCalls });
    const tools = wrapTools([original], {
      countersign: stage.client,
      tools: { pay: PAYMENT },
      ...rules,
    });
    const model = fakeModel().respond(answer).respond(answer);
    return createAgent({ model, tools, ...(hasCheckpointer && { checkpointer }) });
  };
  const invoke = async (input: object) => {
    const result = (await makeAgent().invoke(input as never, THREAD)) as unknown as {
      messages: AIMessage[];
      __interrupt__?: { value: unknown }[];
    };
    const told = result.messages
      .filter((message) => ToolMessage.isInstance(message))
      .map(({ text }) => text);
    return { last: result.messages.at(-1)?.text, told, interrupts: result.__interrupt__ ?? [] };
  };
  return { ...stage, invoke };
}

const RESUME = new Command({ resume: true });

it('waits for the decision, runs the tool once, and tells the model its result', async () => {
  const { world, invoke, decide, pay } = await makeRun();
  world.whileAsleep = () => decide('approve');
  expect(await invoke(START)).toEqual({ last: 'Bye', told: ['paid 120.5'], interrupts: [] });
  expect(pay.mock.calls).toEqual([[PAYMENT_ARGS]]);
});

it('tells the model that the call was denied, and why', async () => {
  const { world, invoke, decide, pay } = await makeRun();
  world.whileAsleep = () => decide('deny', { reason: 'Too much' });
  const { last, told } = await invoke(START);
  expect(last).toBe('Bye');
  expect(JSON.parse(told[0] ?? '')).toMatchObject(
    refusal('permission_denied', { reason: 'Too much' }),
  );
  expect(pay).not.toHaveBeenCalled();
});

it('throws the refusal when the application wants that', async () => {
  const { client, pay } = await makeStage();
  const original = tool((input: Payment) => pay(input), { name: 'pay', schema });
  const [guarded] = wrapTools([original], {
    countersign: client,
    tools: { pay: 'deny' },
    refusals: 'throw',
  });
  const call = { type: 'tool_call', name: 'pay', id: 'call_1', args: PAYMENT_ARGS } as const;
  await expect(guarded?.invoke(call)).rejects.toMatchObject({ code: 'permission_denied' });
  expect(pay).not.toHaveBeenCalled();
});

it('interrupts the graph, and goes on in another process when the decision comes after 30 hours', async () => {
  const { world, invoke, decide, pay, list } = await makeRun({ mode: 'suspend' });
  const { interrupts } = await invoke(START);
  const [waiting] = await list('pending');
  expect(waiting).toMatchObject({ external_id: 'thread%201/call_1' });
  expect(interrupts).toMatchObject([
    {
      value: {
        type: 'countersign',
        tool: 'pay',
        input: PAYMENT_ARGS,
        permission_id: waiting.id,
        external_id: 'thread%201/call_1',
        expires_at: waiting.expires_at,
      },
    },
  ]);

  world.advance(30 * HOUR);
  // Whatever the resumption says, the decision counts.
  expect((await invoke(new Command({ resume: { approved: true } }))).interrupts).toHaveLength(1);
  await decide('approve');
  world.advance(30 * HOUR);
  expect(await invoke(RESUME)).toEqual({ last: 'Bye', told: ['paid 120.5'], interrupts: [] });
  expect(pay).toHaveBeenCalledTimes(1);
});

it('tells the model why a call was denied while the graph was interrupted', async () => {
  const { invoke, decide, pay } = await makeRun({ mode: 'suspend' });
  await invoke(START);
  await decide('deny', { reason: 'Too much' });
  const { last, told } = await invoke(RESUME);
  expect(last).toBe('Bye');
  expect(JSON.parse(told[0] ?? '')).toMatchObject(
    refusal('permission_denied', { reason: 'Too much' }),
  );
  expect(pay).not.toHaveBeenCalled();
});

it('keeps the result of a call that ran while another one waits', async () => {
  const { account, invoke, decide, pay } = await makeRun({
    mode: 'suspend',
    calls: [PAYMENT_ARGS, { amount: 7, to: 'known' }, { amount: 8, to: '4712' }],
  });
  const policy = {
    name: 'Known',
    effect: 'approve',
    actions: ['payment.*'],
    resources: ['account:known'],
  };
  await account.must(201, 'POST', '/v1/policies', policy);
  expect((await invoke(START)).interrupts).toHaveLength(2);
  expect(pay).toHaveBeenCalledTimes(1);
  await decide('approve');
  expect(await invoke(RESUME)).toEqual({
    last: 'Bye',
    told: ['paid 120.5', 'paid 7', 'paid 8'],
    interrupts: [],
  });
  expect(pay).toHaveBeenCalledTimes(3);
});

it('pauses at each of several steps, one after the other', async () => {
  const { client, pay, decide } = await makeStage();
  const original = tool((input: Payment) => pay(input), { name: 'pay', schema });
  const checkpointer = new MemorySaver();
  const invoke = async (input: object) => {
    const answer = (messages: unknown[]) => {
      const step = messages.filter((message) => ToolMessage.isInstance(message)).length;
      if (step === 3) return new AIMessage('Bye');
      const toolCalls = [{ name: 'pay', args: { amount: step, to: '4711' }, id: `call_${step}` }];
      return new AIMessage({ content: '', tool_calls: toolCalls });
    };
    const tools = wrapTools([original], {
      countersign: client,
      tools: { pay: PAYMENT },
      mode: 'suspend',
    });
    const model = fakeModel().respond(answer).respond(answer);
    const result = await createAgent({ model, tools, checkpointer }).invoke(input as never, THREAD);
    return result as unknown as { messages: AIMessage[]; __interrupt__?: unknown[] };
  };
  let result = await invoke(START);
  for (let step = 0; step < 3; step++) {
    expect(result.__interrupt__).toHaveLength(1);
    await decide('approve');
    result = await invoke(RESUME);
  }
  expect(result.messages.at(-1)?.text).toBe('Bye');
  expect(pay.mock.calls.map(([{ amount }]) => amount)).toEqual([0, 1, 2]);
});

it('tells the model of a refusal that no decision changes, with its fields', async () => {
  const calls = [
    { amount: 1, to: 'x'.repeat(17_000) },
    { amount: 2, to: '\ud800' },
  ];
  for (const mode of ['wait', 'suspend'] as const) {
    const { invoke, pay } = await makeRun({ mode, calls });
    const { last, told } = await invoke(START);
    expect(last).toBe('Bye');
    expect(told.map((text) => JSON.parse(text))).toMatchObject([TOO_LARGE, LONE_SURROGATE]);
    expect(pay).not.toHaveBeenCalled();
  }
});

it('tells the model that a call waits where the graph cannot be interrupted', async () => {
  const { invoke, pay } = await makeRun({ mode: 'suspend', hasCheckpointer: false });
  const { last, told } = await invoke(START);
  expect(last).toBe('Bye');
  expect(JSON.parse(told[0] ?? '')).toMatchObject(refusal('permission_pending'));
  expect(pay).not.toHaveBeenCalled();
});

it('asks nobody for arguments that do not match the schema', async () => {
  const { invoke, list } = await makeRun({ calls: [{ amount: 'much' }] });
  expect((await invoke(START)).told[0]).toContain('did not match expected schema');
  expect(await list('pending')).toEqual([]);
});

it('runs what a rule allows, refuses what a rule denies, and asks for the rest', async () => {
  const allowed = await makeRun({ tools: { 'p*': 'allow' } });
  await allowed.invoke(START);
  expect(allowed.pay).toHaveBeenCalledTimes(1);

  const denied = await makeRun({ tools: { pay: 'deny' } });
  expect(JSON.parse((await denied.invoke(START)).told[0] ?? '')).toMatchObject(
    refusal('permission_denied'),
  );
  expect(denied.pay).not.toHaveBeenCalled();
  expect([...(await allowed.list('pending')), ...(await denied.list('pending'))]).toEqual([]);

  const asked = await makeRun({ tools: {}, mode: 'suspend' });
  await asked.invoke(START);
  expect((await asked.list('pending'))[0]).toMatchObject({
    action: 'tool.pay',
    resource: 'tool:pay',
  });
});

it('guards every way to call a tool', async () => {
  const { client, pay, list } = await makeStage();
  const original = tool((input: Payment) => pay(input), { name: 'pay', schema });
  const guarded = guardTool(client, original, { ...PAYMENT, wait: 0 });
  expect(guarded).toBeInstanceOf(original.constructor);
  const waits = { code: 'permission_pending' };
  await expect(guarded.invoke(PAYMENT_ARGS)).rejects.toMatchObject(waits);
  await expect(guarded.call(PAYMENT_ARGS)).rejects.toMatchObject(waits);
  await expect(guarded.batch([PAYMENT_ARGS])).rejects.toMatchObject(waits);
  await expect(guarded.stream(PAYMENT_ARGS).then((stream) => stream.next())).rejects.toMatchObject(
    waits,
  );
  expect(await list('pending')).toHaveLength(4);
  expect(pay).not.toHaveBeenCalled();
});

it('refuses to suspend a call without an id, and to guard a tool that does not run here', async () => {
  const { client, pay } = await makeStage();
  const original = tool((input: Payment) => pay(input), { name: 'pay', schema });
  const guarded = guardTool(client, original, { ...PAYMENT, mode: 'suspend' });
  await expect(guarded.invoke(PAYMENT_ARGS)).rejects.toThrow(
    'Only a call with an id can be suspended',
  );
  const hosted = { name: 'web_search', type: 'web_search' };
  expect(() => wrapTools([hosted], { countersign: client })).toThrow(
    'web_search does not run in this program',
  );
});
