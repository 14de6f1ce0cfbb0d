import { expect, vi } from 'vitest';
import type { Countersign } from '../../../src/packages/client/index.ts';
import { type Json, makeAgent, type World } from '../../support/world';
import { answerOf, makeClient, type Payment } from '../process';

export const HOUR = 3_600_000;

/** The arguments that the scripted models call the tool `pay` with. */
export const PAYMENT_ARGS: Payment = { amount: 120.5, to: '4711' };

/** An agent, its client, and the function of a tool, which records its runs. */
export async function makeStage() {
  const { world, account, agent } = await makeAgent();
  const pay = vi.fn(async ({ amount }: Payment) => `paid ${amount}`);
  const list = async (status: string): Promise<Json[]> =>
    (await agent.must(200, 'GET', `/v1/permissions?status=${status}`)).body.data;
  const decide = async (decision: 'approve' | 'deny', body: object = {}) => {
    for (const { id } of await list('pending'))
      await account.must(200, 'POST', `/v1/permissions/${id}/${decision}`, body);
  };
  return { world, account, agent, pay, list, decide, client: makeClient(world, agent.key) };
}

/** A client whose first request finds the service down. It does not try again. */
export function makeUnluckyClient(world: World, key: string): Countersign {
  let requests = 0;
  return makeClient(world, key, {
    maxRetries: 0,
    fetch: async (url, request) => {
      if (requests++ === 0) throw new TypeError('fetch failed');
      return answerOf(world, url as URL, request ?? {});
    },
  });
}

/** What the model was told about a call that did not run. */
export function refusal(code: string, fields: object = {}) {
  return { status: 'not_run', code, ...fields };
}

/** What the model is told about arguments that are too large for a request. */
export const TOO_LARGE = refusal('invalid_request', {
  message: expect.stringContaining('body.input'),
  detail: expect.any(String),
  errors: expect.arrayContaining([
    { path: 'body.input', message: 'must be at most 16384 bytes of JSON' },
  ]),
});

/** What the model is told about arguments with a lone surrogate in the field `to`. */
export const LONE_SURROGATE = refusal('invalid_request', {
  detail: expect.any(String),
  errors: [{ path: 'input.to', message: expect.stringContaining('lone surrogate') }],
});
