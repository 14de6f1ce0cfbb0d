import { describe, expect, it } from 'vitest';
import {
  approveAll,
  callUpstream,
  makeConnectionScene,
  makePayments,
} from '../support/connection-calls';
import type { Json } from '../support/world';

const DAY = 86_400_000;
const list = (account: Json, query: string) =>
  account.must(200, 'GET', `/v1/permissions?${query}`).then(({ body }: Json) => body);

describe('the permissions of a connection', () => {
  it('are listed newest first, by status, outcome and agent, and no others', async () => {
    const { world, account, agent, connection, other } = await makeConnectionScene({ wait: 0 });
    const second = await makePayments(agent, { slug: 'second' });
    const made: string[] = [];
    await agent.request();
    for (const amount of [1, 2, 3]) {
      world.advance(1_000);
      const { body } = await callUpstream(agent, connection, { body: { amount } });
      made.unshift(body.permission_id);
    }
    const last = await callUpstream(agent, { id: second.id }, { body: { amount: 9 } });
    await account.must(200, 'POST', `/v1/permissions/${made[1]}/deny`);
    const of = `connection_id=${connection.id}`;
    const ids = async (query: string) =>
      (await list(account, query)).data.map(({ id }: Json) => id);
    expect(await ids(of)).toEqual(made);
    expect(await ids(`connection_id=${second.id}`)).toEqual([last.body.permission_id]);
    expect(await ids(`${of}&status=denied`)).toEqual([made[1]]);
    expect(await ids(`${of}&status=pending`)).toEqual([made[0], made[2]]);
    expect(await ids(`${of}&outcome=failed`)).toEqual([]);
    expect(await ids(`${of}&agent_id=${agent.id}`)).toEqual(made);
    expect(await ids(`${of}&agent_id=${(await account.agent()).id}`)).toEqual([]);
    expect(await ids('connection_id=x')).toEqual([]);
    expect((await list(other, of)).data).toEqual([]);
    const page = await list(account, `${of}&limit=2`);
    const cursor = encodeURIComponent(page.next_cursor);
    const rest = await list(account, `${of}&limit=2&cursor=${cursor}`);
    expect([...page.data, ...rest.data].map(({ id }: Json) => id)).toEqual(made);
    expect(rest.has_more).toBe(false);
  });

  it('are found by their outcome', async () => {
    const { world, account, agent, connection } = await makeConnectionScene();
    await approveAll(account);
    await callUpstream(agent, connection, { body: { amount: 1 } });
    world.internet.on('api.upstream-service.com', () => new Response('no', { status: 400 }));
    const failed = await callUpstream(agent, connection, { body: { amount: 2 } });
    const { data } = await list(account, `connection_id=${connection.id}&outcome=failed`);
    expect(data.map(({ id }: Json) => id)).toEqual([failed.headers.get('Countersign-Permission')]);
  });
});

describe('the reads of a connection', () => {
  it('are counted by agent and day, newest first', async () => {
    const { world, account, agent, connection, other } = await makeConnectionScene();
    const second = await account.agent();
    await account.must(200, 'PUT', `/v1/connections/${connection.id}`, {
      agent_ids: [agent.id, second.id],
    });
    const read = (by: typeof agent) => callUpstream(by, connection, { method: 'GET' });
    await read(agent);
    world.advance(DAY);
    for (const by of [agent, second, second]) await read(by);
    const path = `/v1/connections/${connection.id}/reads`;
    const reads = async (query = '') => (await account.must(200, 'GET', path + query)).body.data;
    const today = [
      { date: '2026-02-01', agent_id: second.id, count: 2 },
      { date: '2026-02-01', agent_id: agent.id, count: 1 },
    ];
    expect(await reads()).toEqual([...today, { date: '2026-01-31', agent_id: agent.id, count: 1 }]);
    expect(await reads('?days=1')).toEqual(today);
    await other.must(404, 'GET', path);
    await account.must(400, 'GET', `${path}?days=32`);
    await account.must(204, 'DELETE', `/v1/agents/${second.id}`);
    expect(await reads('?days=1')).toEqual([today[1]]);
  });
});
