import { describe, expect, it } from 'vitest';
import { type Json, makeAgent, World } from '../support/world';

const ACT = {
  action: 'payment.send',
  resource: 'account:4711',
  scope: { amount: 500, to: ['a', 'b'] },
};
const JSON_HEADERS = { 'Content-Type': 'application/json' };

describe('a withdrawal', () => {
  it('expires the request with one entry that says so', async () => {
    const { account, agent } = await makeAgent();
    const { id } = await agent.request(ACT);
    const { body } = await agent.must(200, 'POST', `/v1/permissions/${id}/withdraw`);
    expect([body.status, body.decided_by]).toEqual(['expired', null]);
    const log = await account.log();
    expect(log.map(({ event_type, details }) => [event_type, details.expired])).toEqual([
      ['request', undefined],
      ['expire', 'withdrawn'],
    ]);
    const { body: stats } = await account.must(
      200,
      'GET',
      `/v1/agents/${agent.id}/stats?period=24h`,
    );
    expect([stats.pending_requests, stats.expired_requests]).toEqual([0, 1]);
  });

  it('is refused once the request is decided, expired or withdrawn', async () => {
    const { world, account, agent } = await makeAgent();
    const [approved, overdue, withdrawn] = [
      await agent.approved(ACT),
      await agent.request({ ...ACT, expires_in: 60 }),
      await agent.request(ACT),
    ];
    await agent.must(200, 'POST', `/v1/permissions/${withdrawn.id}/withdraw`);
    world.advance(60_000);
    for (const { id } of [approved, overdue, withdrawn]) {
      const { body } = await agent.must(409, 'POST', `/v1/permissions/${id}/withdraw`);
      expect(body.code).toBe('not_pending');
    }
    for (const decision of ['approve', 'deny']) {
      await account.must(409, 'POST', `/v1/permissions/${withdrawn.id}/${decision}`);
    }
  });

  it('is for the agent of the request alone', async () => {
    const { world, account, agent } = await makeAgent();
    const { id } = await agent.request(ACT);
    for (const other of [await account.agent(), await (await world.account()).agent()]) {
      expect((await other.call('POST', `/v1/permissions/${id}/withdraw`)).status).toBe(404);
    }
    expect((await account.call('POST', `/v1/permissions/${id}/withdraw`)).body.code).toBe(
      'wrong_credential',
    );
  });

  it('has one winner when a decision comes at the same time', async () => {
    const { account, agent } = await makeAgent();
    for (let round = 0; round < 5; round++) {
      const { id } = await agent.request(ACT);
      const answers = await Promise.all([
        agent.call('POST', `/v1/permissions/${id}/withdraw`),
        account.call('POST', `/v1/permissions/${id}/approve`),
        account.call('POST', `/v1/permissions/${id}/deny`),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    }
    expect(await account.log()).toHaveLength(10);
  });

  it('is not counted by reports as a request that nobody decided in time', async () => {
    const { world, account, agent } = await makeAgent(new World(), { plan: 'enterprise' });
    const { id } = await agent.request();
    await agent.must(200, 'POST', `/v1/permissions/${id}/withdraw`);
    const { body } = await account.must(202, 'POST', '/v1/audit/reports/compliance', {
      report_type: 'soc2_type2',
      period: { start: '2026-01-31', end: '2026-01-31' },
      format: 'json',
    });
    await world.work();
    const done = (await account.must(200, 'GET', `/v1/audit/reports/compliance/${body.report_id}`))
      .body;
    const url = new URL(done.download_url);
    const report = (await world.call('GET', url.pathname + url.search)).body;
    expect(report.exceptions.map(({ kind }: Json) => kind)).not.toContain('request_undecided');
  });

  it('is replayed by its idempotency key, and refuses fields', async () => {
    const { world, account, agent } = await makeAgent();
    const { id } = await agent.request({ input: 1 });
    const send = () =>
      world.call('POST', `/v1/permissions/${id}/withdraw`, {
        token: agent.key,
        headers: { 'Idempotency-Key': 'w' },
      });
    const [first, second] = [await send(), await send()];
    expect([first.status, second.status, second.text]).toEqual([200, 200, first.text]);
    expect(await account.log()).toHaveLength(2);
    for (const raw of ['{"x":1}', 'null', '[]']) {
      const answer = await world.call('POST', `/v1/permissions/${id}/withdraw`, {
        token: agent.key,
        raw,
        headers: JSON_HEADERS,
      });
      expect(answer.status).toBe(400);
    }
    await agent.must(404, 'POST', '/v1/permissions/perm_x/withdraw');
  });
});
