import { Agent, RunContext, RunState, run, setTracingDisabled, type Tool, tool } from '@openai/agents';
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing';
import { expect, it, vi } from 'vitest';
import * as z from 'zod';
import { guardTool, type ToolRules, wrapTools } from '../../../src/client/adapters/openai-agents.ts';
import { PAYMENT, type Payment } from '../process';
import { HOUR, makeStage, makeUnluckyClient, PAYMENT_ARGS, refusal } from './stage';

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
  /** An agent of a new process, whose model calls `pay`, or is told the result of the call and says goodbye. */
  const makeAgent = (isResumed = false, args: object = PAYMENT_ARGS) => {
    const call = [functionCall('pay', JSON.stringify(args), { callId: 'call_1' })];
    const model = new ScriptedModel([...(isResumed ? [] : [call]), [assistantMessage('Bye')]]);
    const tools = wrapTools([original], { countersign: stage.client, tools: { pay: PAYMENT }, ...rules });
    return { agent: new Agent({ name: 'Payer', model, tools }), told: () => toldOf(model) };
  };
  const resume = async (saved: string, change: (state: RunState<unknown, Agent>) => unknown = () => {}) => {
    const { agent, told } = makeAgent(true);
    const state = await RunState.fromString(agent, saved);
    change(state);
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
  const original = tool({ name: 'pay', description: 'Pays', parameters, execute: (input: Payment) => pay(input) });
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
  const original = tool({ name: 'pay', description: 'Pays', parameters, execute: (input: Payment) => pay(input) });
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
  expect((await list('pending'))[0]).toMatchObject({ external_id: 'call_1', action: 'payment.send' });
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

it('runs a call whose state was approved only when Countersign approved it', async () => {
  const { makeAgent, resume, decide, pay } = await makeRun({ mode: 'suspend' });
  const saved = (await run(makeAgent().agent, 'Pay')).state.toString();
  const approve = (state: RunState<unknown, Agent>) => {
    for (const interruption of state.getInterruptions()) state.approve(interruption, { alwaysApprove: true });
  };
  expect(JSON.parse((await resume(saved, approve)).told())).toMatchObject(refusal('permission_pending'));
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
  expect(JSON.parse((await resume(saved)).told())).toMatchObject(refusal('permission_denied', { reason: 'Too much' }));
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
  expect((await asked.list('pending'))[0]).toMatchObject({ action: 'tool.pay', resource: 'tool:pay' });
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
  await run(new Agent({ name: 'Payer', model, tools: [guarded] }), 'Pay', { context: { chat: 'a/b' } });
  // The time of the tool begins after the decision.
  expect(execute).toHaveBeenCalledOnce();
  expect(toldOf(model)).toContain('timed out');
});

it('refuses to guard a tool that does not run here', async () => {
  const { client } = await makeStage();
  const hosted: Tool = { type: 'hosted_tool', name: 'web_search' };
  expect(() => wrapTools([hosted], { countersign: client })).toThrow('web_search does not run in this program');
  expect(wrapTools([hosted], { countersign: client, tools: { 'web_*': 'allow' } })).toEqual([hosted]);
});
