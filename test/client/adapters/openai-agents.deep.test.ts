import {
  Agent,
  RunContext,
  RunState,
  run,
  setTracingDisabled,
  type Tool,
  tool,
} from '@openai/agents';
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing';
import { expect, it, vi } from 'vitest';
import * as z from 'zod';
import {
  approveDecided,
  guardTool,
  type ToolRules,
  wrapTools,
} from '../../../src/packages/client/adapters/openai-agents.ts';
import { PAYMENT, type Payment } from '../process';
import {
  HOUR,
  LONE_SURROGATE,
  makeStage,
  makeUnluckyClient,
  PAYMENT_ARGS,
  refusal,
  TOO_LARGE,
} from './stage';

setTracingDisabled(true);

const parameters = z.object({ amount: z.number(), to: z.string() });

async function makeRun(rules: Omit<ToolRules<unknown>, 'countersign' | 'run'> = {}) {
  const stage = await makeStage();
  const original = tool({
    name: 'pay',
    description: 'Pays',
    parameters,
    execute: (input: Payment) => stage.pay(input),
  });
  /**
   * An agent of a new process, whose model calls `pay`, or is told the result of the call and says
   * goodbye.
   */
  const makeAgent = (isResumed = false, args: object | string = PAYMENT_ARGS) => {
    const call = [
      functionCall('pay', typeof args === 'string' ? args : JSON.stringify(args), {
        callId: 'call_1',
      }),
    ];
    const model = new ScriptedModel([...(isResumed ? [] : [call]), [assistantMessage('Bye')]]);
    const tools = wrapTools([original], {
      countersign: stage.client,
      tools: { pay: PAYMENT },
      ...rules,
    });
    return { agent: new Agent({ name: 'Payer', model, tools }), told: () => toldOf(model) };
  };
  const resume = async (
    saved: string,
    change: (state: RunState<unknown, Agent>) => unknown = approveDecided,
  ) => {
    const { agent, told } = makeAgent(true);
    const state = await RunState.fromString(agent, saved);
    await change(state);
    return { result: await run(agent, state), told };
  };
  return { ...stage, makeAgent, resume };
}

/** The result of the tool that the model was told. */
function toldOf(model: ScriptedModel): string {
  const items = model.lastCall?.request.input as { type: string; output?: { text: string } }[];
  return items.findLast(({ type }) => type === 'function_call_result')?.output?.text ?? '';
}

it('waits for the decision, runs the tool once, and tells the model its result', async () => {
  const { world, makeAgent, decide, pay } = await makeRun();
  world.whileAsleep = () => decide('approve');
  const { agent, told } = makeAgent();
  expect((await run(agent, 'Pay')).finalOutput).toBe('Bye');
  expect(told()).toBe('paid 120.5');
  expect(pay.mock.calls).toEqual([[PAYMENT_ARGS]]);
});

it('tells the model that the call was denied, and why', async () => {
  const { world, makeAgent, decide, pay } = await makeRun();
  world.whileAsleep = () => decide('deny', { reason: 'Too much' });
  const { agent, told } = makeAgent();
  expect((await run(agent, 'Pay')).finalOutput).toBe('Bye');
  expect(JSON.parse(told())).toMatchObject(refusal('permission_denied', { reason: 'Too much' }));
  expect(pay).not.toHaveBeenCalled();
});

it('tells the model that its arguments are not JSON', async () => {
  const { client, pay, list } = await makeStage();
  const original = tool({
    name: 'pay',
    description: 'Pays',
    parameters,
    execute: (input: Payment) => pay(input),
  });
  const guarded = guardTool(client, original, PAYMENT);
  const told = String(await guarded.invoke(new RunContext(), '{"amount": 120.5'));
  expect(JSON.parse(told)).toMatchObject(refusal('invalid_request', { reason: null }));
  expect([pay.mock.calls, await list('pending')]).toEqual([[], []]);
});

it.each(['wait', 'suspend'] as const)(
  'tells the model that its arguments break the schema, and asks nobody, in the mode %s',
  async (mode) => {
    const { makeAgent, pay, list } = await makeRun({ mode });
    const { agent, told } = makeAgent(false, { amount: '120.5', to: '4711' });
    expect((await run(agent, 'Pay')).finalOutput).toBe('Bye');
    expect(JSON.parse(told())).toMatchObject(
      refusal('invalid_request', { message: expect.stringContaining('amount') }),
    );
    expect([pay.mock.calls, await list('pending')]).toEqual([[], []]);
  },
);

it('tells the model that the service did not answer when it was asked whether people decide', async () => {
  const { world, agent, pay, list } = await makeStage();
  const client = makeUnluckyClient(world, agent.key);
  const original = tool({
    name: 'pay',
    description: 'Pays',
    parameters,
    execute: (input: Payment) => pay(input),
  });
  const model = new ScriptedModel([
    [functionCall('pay', JSON.stringify(PAYMENT_ARGS), { callId: 'call_1' })],
    [assistantMessage('Bye')],
  ]);
  const tools = [guardTool(client, original, { ...PAYMENT, mode: 'suspend' })];
  expect((await run(new Agent({ name: 'Payer', model, tools }), 'Pay')).finalOutput).toBe('Bye');
  expect(JSON.parse(toldOf(model))).toMatchObject(refusal('unreachable'));
  expect([pay.mock.calls, await list('pending')]).toEqual([[], []]);
});

it('throws the refusal when the application wants that', async () => {
  const { world, makeAgent, decide } = await makeRun({ refusals: 'throw' });
  world.whileAsleep = () => decide('deny', { reason: 'Too much' });
  await expect(run(makeAgent().agent, 'Pay')).rejects.toMatchObject({
    error: { permission: { decision_reason: 'Too much' } },
  });
});

it('interrupts the run, and goes on in another process when the decision comes after 30 hours', async () => {
  const { world, makeAgent, resume, decide, pay, list } = await makeRun({ mode: 'suspend' });
  const first = await run(makeAgent().agent, 'Pay');
  expect(first.interruptions).toMatchObject([{ rawItem: { callId: 'call_1', name: 'pay' } }]);
  expect((await list('pending'))[0]).toMatchObject({
    external_id: 'call_1',
    action: 'payment.send',
  });
  const saved = first.state.toString();

  world.advance(30 * HOUR);
  expect((await resume(saved)).result.interruptions).toHaveLength(1);
  await decide('approve');
  world.advance(30 * HOUR);
  const { result, told } = await resume(saved);
  expect(result.finalOutput).toBe('Bye');
  expect(told()).toBe('paid 120.5');
  expect(pay).toHaveBeenCalledTimes(1);

  expect(JSON.parse((await resume(saved)).told())).toMatchObject(refusal('already_used'));
  expect(pay).toHaveBeenCalledTimes(1);
});

it('stays interrupted in a run whose state nobody approved, also when the call is decided', async () => {
  const { makeAgent, resume, decide, pay } = await makeRun({ mode: 'suspend' });
  const saved = (await run(makeAgent().agent, 'Pay')).state.toString();
  await decide('approve');
  expect((await resume(saved, () => {})).result.interruptions).toHaveLength(1);
  expect(pay).not.toHaveBeenCalled();
});

it('runs a call whose state was approved only when Countersign approved it', async () => {
  const { makeAgent, resume, decide, pay } = await makeRun({ mode: 'suspend' });
  const saved = (await run(makeAgent().agent, 'Pay')).state.toString();
  const approve = (state: RunState<unknown, Agent>) => {
    for (const interruption of state.getInterruptions())
      state.approve(interruption, { alwaysApprove: true });
  };
  expect(JSON.parse((await resume(saved, approve)).told())).toMatchObject(
    refusal('permission_pending'),
  );
  expect(pay).not.toHaveBeenCalled();

  await decide('approve');
  expect((await resume(saved, approve)).told()).toBe('paid 120.5');
  expect(pay).toHaveBeenCalledTimes(1);
});

it('does not run with arguments that were changed in the saved state', async () => {
  const { makeAgent, resume, decide, pay } = await makeRun({ mode: 'suspend' });
  const saved = (await run(makeAgent().agent, 'Pay')).state.toString();
  await decide('approve');
  const { told } = await resume(saved.replaceAll('120.5', '120.6'));
  expect(JSON.parse(told())).toMatchObject(refusal('input_changed'));
  expect(pay).not.toHaveBeenCalled();
});

it('tells the model why a call was denied while the run was interrupted', async () => {
  const { makeAgent, resume, decide, pay } = await makeRun({ mode: 'suspend' });
  const saved = (await run(makeAgent().agent, 'Pay')).state.toString();
  await decide('deny', { reason: 'Too much' });
  expect(JSON.parse((await resume(saved)).told())).toMatchObject(
    refusal('permission_denied', { reason: 'Too much' }),
  );
  expect(pay).not.toHaveBeenCalled();
});

it('runs what a rule allows, refuses what a rule denies, and asks for the rest', async () => {
  const allowed = await makeRun({ tools: { 'p*': 'allow' } });
  await run(allowed.makeAgent().agent, 'Pay');
  expect(allowed.pay).toHaveBeenCalledTimes(1);

  const denied = await makeRun({ tools: { pay: 'deny' } });
  const { agent, told } = denied.makeAgent();
  await run(agent, 'Pay');
  expect(JSON.parse(told())).toMatchObject(refusal('permission_denied'));
  expect(denied.pay).not.toHaveBeenCalled();
  expect([...(await allowed.list('pending')), ...(await denied.list('pending'))]).toEqual([]);

  const asked = await makeRun({ tools: {}, mode: 'suspend' });
  await run(asked.makeAgent().agent, 'Pay');
  expect((await asked.list('pending'))[0]).toMatchObject({
    action: 'tool.pay',
    resource: 'tool:pay',
  });
});

it('names the run in the external id, and keeps the time limit of the tool', async () => {
  const { client, world, list, decide } = await makeStage();
  const execute = vi.fn(() => new Promise<string>(() => {}));
  const original = tool({
    name: 'pay',
    description: 'Pays',
    parameters,
    timeoutMs: 1,
    execute,
  });
  const guarded = guardTool(client, original, {
    ...PAYMENT,
    run: ({ context }) => (context as { chat: string }).chat,
  });
  world.whileAsleep = async () => {
    expect((await list('pending'))[0]).toMatchObject({ external_id: 'a%2Fb/call_1' });
    await decide('approve');
  };
  const model = new ScriptedModel([
    [functionCall('pay', JSON.stringify(PAYMENT_ARGS), { callId: 'call_1' })],
    [assistantMessage('Bye')],
  ]);
  await run(new Agent({ name: 'Payer', model, tools: [guarded] }), 'Pay', {
    context: { chat: 'a/b' },
  });
  // The time of the tool begins after the decision.
  expect(execute).toHaveBeenCalledOnce();
  expect(toldOf(model)).toContain('timed out');
});

it('refuses to guard a tool that does not run here', async () => {
  const { client } = await makeStage();
  const hosted: Tool = { type: 'hosted_tool', name: 'web_search' };
  expect(() => wrapTools([hosted], { countersign: client })).toThrow(
    'web_search does not run in this program',
  );
  expect(wrapTools([hosted], { countersign: client, tools: { 'web_*': 'allow' } })).toEqual([
    hosted,
  ]);
});

it('lets a run go on whose model calls the tool with arguments that are not JSON, and asks nobody, in suspend mode', async () => {
  const { makeAgent, pay, list } = await makeRun({ mode: 'suspend' });
  for (const args of ['{"amount": 120.5', '[1]', '"pay"']) {
    const { agent, told } = makeAgent(false, args);
    const first = await run(agent, 'Pay');
    expect(first.interruptions).toHaveLength(1);
    expect(await approveDecided(first.state)).toBe(true);
    expect((await run(agent, first.state)).finalOutput).toBe('Bye');
    expect(told()).toMatch(/valid JSON|invalid_request/);
  }
  expect([pay.mock.calls, await list('pending')]).toEqual([[], []]);
});

it('leaves the approval that a tool asks for itself to the application when a policy approved the call', async () => {
  const { client, account, pay } = await makeStage();
  const policy = {
    name: 'Payments',
    effect: 'approve',
    actions: ['payment.*'],
    resources: ['account:*'],
  };
  await account.must(201, 'POST', '/v1/policies', policy);
  const original = tool({
    name: 'pay',
    description: 'Pays',
    parameters,
    needsApproval: true,
    execute: (input) => pay(input),
  });
  const model = new ScriptedModel([
    [functionCall('pay', JSON.stringify(PAYMENT_ARGS), { callId: 'call_1' })],
  ]);
  const tools = [guardTool(client, original, { ...PAYMENT, mode: 'suspend' })];
  const { state, interruptions } = await run(new Agent({ name: 'Payer', model, tools }), 'Pay');
  expect(interruptions).toHaveLength(1);
  expect(await approveDecided(state)).toBe(false);
  expect(pay).not.toHaveBeenCalled();
});

it('does not lose an approved call when the service does not answer while the run is resumed', async () => {
  const { world, agent: owner, client, pay, decide } = await makeStage();
  const original = tool({
    name: 'pay',
    description: 'Pays',
    parameters,
    execute: (input: Payment) => pay(input),
  });
  const makeAgent = (used: typeof client) => {
    const calls = ['4711', '4712'].map((to, index) =>
      functionCall('pay', JSON.stringify({ amount: 1, to }), { callId: `call_${index + 1}` }),
    );
    const model = new ScriptedModel([calls, [assistantMessage('Bye')]]);
    return new Agent({
      name: 'Payer',
      model,
      tools: [guardTool(used, original, { ...PAYMENT, mode: 'suspend' })],
    });
  };
  const saved = (await run(makeAgent(client), 'Pay')).state.toString();
  await decide('approve');
  const state = await RunState.fromString(makeAgent(makeUnluckyClient(world, owner.key)), saved);
  await expect(approveDecided(state)).rejects.toMatchObject({ code: 'unreachable' });
  expect(pay).not.toHaveBeenCalled();
});

it('goes on call by call when two calls of one message are decided at different times', async () => {
  const { account, client, pay, list } = await makeStage();
  const original = tool({
    name: 'pay',
    description: 'Pays',
    parameters,
    execute: (input: Payment) => pay(input),
  });
  const calls = ['4711', '4712', '4713'].map((to, index) =>
    functionCall('pay', JSON.stringify({ amount: index, to }), { callId: `call_${index + 1}` }),
  );
  const makeAgent = (turn: ReturnType<typeof functionCall | typeof assistantMessage>[]) => {
    const tools = [guardTool(client, original, { ...PAYMENT, mode: 'suspend' })];
    return new Agent({ name: 'Payer', model: new ScriptedModel([turn]), tools });
  };
  let saved = (await run(makeAgent(calls), 'Pay')).state.toString();
  const output = [];
  for (const [to, decision] of [
    ['4712', 'approve'],
    ['4711', 'deny'],
    ['4713', 'approve'],
  ] as const) {
    const { id } = (await list('pending')).find(({ resource }) => resource === `account:${to}`);
    await account.must(200, 'POST', `/v1/permissions/${id}/${decision}`, {});
    // Every resumption is a new process, which knows the saved state alone.
    const state = await RunState.fromString(makeAgent([assistantMessage('Bye')]), saved);
    expect(await approveDecided(state)).toBe(true);
    const result = await run(makeAgent([assistantMessage('Bye')]), state);
    saved = result.state.toString();
    output.push([result.interruptions.length, result.finalOutput]);
  }
  expect(output).toEqual([
    [2, undefined],
    [1, undefined],
    [0, 'Bye'],
  ]);
  expect(pay.mock.calls.map(([{ to }]) => to)).toEqual(['4712', '4713']);
});

it('pauses at each of several steps, one after the other', async () => {
  const { client, pay, decide } = await makeStage();
  const original = tool({
    name: 'pay',
    description: 'Pays',
    parameters,
    execute: (input: Payment) => pay(input),
  });
  const steps = [1, 2, 3].map((amount) => [
    functionCall('pay', JSON.stringify({ amount, to: '4711' }), { callId: `call_${amount}` }),
  ]);
  const makeAgent = (step: number) => {
    const model = new ScriptedModel([...steps.slice(step), [assistantMessage('Bye')]]);
    return new Agent({
      name: 'Payer',
      model,
      tools: [guardTool(client, original, { ...PAYMENT, mode: 'suspend' })],
    });
  };
  let saved = (await run(makeAgent(0), 'Pay')).state.toString();
  const outputs = [];
  for (const step of [1, 2, 3]) {
    await decide('approve');
    const state = await RunState.fromString(makeAgent(step), saved);
    expect(await approveDecided(state)).toBe(true);
    const result = await run(makeAgent(step), state);
    outputs.push(result.finalOutput);
    saved = result.state.toString();
  }
  expect(outputs).toEqual([undefined, undefined, 'Bye']);
  expect(pay).toHaveBeenCalledTimes(3);
});

it('tells the model of a refusal that no decision changes, with its fields', async () => {
  const large = { amount: 1, to: 'x'.repeat(17_000) };
  for (const mode of ['wait', 'suspend'] as const) {
    const { makeAgent } = await makeRun({ mode });
    const { agent, told } = makeAgent(false, large);
    expect((await run(agent, 'Pay')).finalOutput).toBe('Bye');
    expect(JSON.parse(told())).toMatchObject(TOO_LARGE);

    const broken = makeAgent(false, '{"amount": 1, "to": "\\ud800"}');
    expect((await run(broken.agent, 'Pay')).finalOutput).toBe('Bye');
    expect(JSON.parse(broken.told())).toMatchObject(LONE_SURROGATE);
  }
});
