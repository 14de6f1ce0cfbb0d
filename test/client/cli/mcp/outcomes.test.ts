import { describe, expect, it, vi } from 'vitest';
import type { Json } from '../../../support/world';
import { stage } from './stage';

const ASK = { tools: { pay: { action: 'payment.send', resource: 'account:{to}' } } };

/** A session of which the server has got a call that a policy approved. */
async function open(params: object = {}) {
  const scene = await stage(ASK);
  const policy = { effect: 'approve', actions: ['payment.*'], resources: ['*'] };
  await scene.account.must(201, 'POST', '/v1/policies', { ...policy, name: 'Payments' });
  const session = scene.start();
  const outcome = async (): Promise<Json> => {
    const { body } = await scene.agent.must(200, 'GET', '/v1/permissions?limit=1');
    return body.data[0].outcome;
  };
  await session.call('pay', { to: 4711 }, params);
  const passed = JSON.parse(session.toServer.at(-1) ?? '{}');
  const answer = (message: object) =>
    session.gate.fromServer(
      new TextEncoder().encode(JSON.stringify({ jsonrpc: '2.0', id: passed.id, ...message })),
    );
  const becomes = (status: string) =>
    vi.waitFor(async () => expect((await outcome()).status).toBe(status));
  return { ...scene, session, passed, answer, outcome, becomes };
}

const text = (words: string) => ({ content: [{ type: 'text', text: words }] });

describe('the outcome of a call that mcp wrap lets pass', () => {
  it('is awaited until the server answers', async () => {
    const { answer, outcome, becomes, session } = await open();
    expect((await outcome()).status).toBe('awaited');
    answer({ id: 'another', result: text('other') });
    expect((await outcome()).status).toBe('awaited');
    answer({ result: text('paid') });
    await becomes('succeeded');
    expect(session.notices).toEqual([]);
    expect(session.toClient).toEqual([]);
    await session.gate.close();
  });

  it.each<[string, object, string]>([
    ['a result', { result: text('paid') }, 'succeeded'],
    ['a result that says it failed', { result: { ...text('no'), isError: true } }, 'failed'],
    ['an error', { error: { code: -32_000, message: 'No' } }, 'failed'],
    ['nothing that can be read', { result: 'paid' }, 'failed'],
  ])('with %s', async (_, message, status) => {
    const { answer, becomes } = await open();
    answer(message);
    await becomes(status);
  });

  it('is unknown for a task, which only begins', async () => {
    const { answer, becomes } = await open({ task: { ttl: 60_000 } });
    answer({ result: { task: { taskId: '1', status: 'working' } } });
    await becomes('unknown');
  });

  it('is unknown when the client cancels the call, even if the server answers it', async () => {
    const { session, passed, answer, becomes, outcome } = await open();
    const params = { requestId: passed.id };
    session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    await becomes('unknown');
    answer({ result: text('paid') });
    expect((await outcome()).status).toBe('unknown');
  });

  it('is unknown when the connection ends first, which waits for the report', async () => {
    const { session, outcome } = await open();
    await session.gate.close();
    expect((await outcome()).status).toBe('unknown');
  });

  it('is that of the last answer where the server has a question', async () => {
    const { session, passed, answer, outcome, becomes } = await open();
    answer({ result: { resultType: 'input_required', requestState: 'half', inputRequests: {} } });
    expect((await outcome()).status).toBe('awaited');
    const params = { ...passed.params, requestState: 'half', inputResponses: {} };
    session.send({ jsonrpc: '2.0', id: 'next', method: 'tools/call', params });
    expect(JSON.parse(session.toServer.at(-1) ?? '{}').id).toBe('next');
    answer({ id: 'next', result: { ...text('no'), isError: true } });
    await becomes('failed');
  });

  it('is unknown when nobody answers the question of the server', async () => {
    const { session, answer, outcome } = await open();
    answer({ result: { resultType: 'input_required', requestState: 'half' } });
    await session.gate.close();
    expect((await outcome()).status).toBe('unknown');
  });

  it('goes on without the service: the client gets its answer, and the next call is asked for', async () => {
    const { session, answer, becomes } = await open();
    const { fetch } = session;
    session.fetch = () => Promise.reject(new TypeError('fetch failed'));
    answer({ result: text('paid') });
    await vi.waitFor(() =>
      expect(session.requests.filter((request) => request.endsWith('/outcome'))).toHaveLength(2),
    );
    session.fetch = fetch;
    await session.call('pay', { to: 4712 });
    await becomes('awaited');
  });
});
