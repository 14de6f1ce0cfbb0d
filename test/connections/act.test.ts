import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { idBytes } from '../../src/lib/typeid';
import {
  approveAll,
  callUpstream,
  codeOf,
  eventsOf,
  makeConnectionScene,
  receivedBy,
  UPSTREAM,
} from '../support/connection-calls';
import { depth } from '../support/depth';
import { FaultyDatabase } from '../support/faults';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

const SECOND = 1_000;

async function pendingOf(agent: TestAgent): Promise<Json[]> {
  return (await agent.must(200, 'GET', '/v1/permissions?status=pending')).body.data;
}

describe('a call that a policy approves', () => {
  it('is sent at once, with one request, approval and use, in two trips', async () => {
    const database = new FaultyDatabase(env.DB);
    const scene = await makeConnectionScene({}, new World({ DB: database.binding }));
    const { world, account, agent, connection } = scene;
    await approveAll(account);
    await callUpstream(agent, connection, { body: { amount: 1 } });
    const before = (await account.log()).length;
    let trips = 0;
    world.internet.on(UPSTREAM, () => {
      trips = database.calls;
      return Response.json({ done: true });
    });
    database.arm(null);
    const answer = await callUpstream(agent, connection);
    expect([trips, database.calls]).toEqual([2, 3]);
    expect([answer.status, answer.body]).toEqual([200, { done: true }]);
    expect((await eventsOf(account)).slice(before)).toEqual(['request', 'approve', 'use']);
    const id = answer.headers.get('Countersign-Permission');
    const permission = (await agent.must(200, 'GET', `/v1/permissions/${id}`)).body;
    expect(permission).toMatchObject({
      action: 'payments.post',
      resource: `url:${UPSTREAM}/v1/payouts`,
      scope: { amount: 5 },
      connection_id: connection.id,
      token: { status: 'used', uses: 1 },
      outcome: { status: 'succeeded', reported_by: connection.id },
      input: { method: 'POST', body: { amount: 5, to: 'supplier-2' } },
    });
    expect(permission.token.value).toBeUndefined();
    expect(JSON.stringify(permission)).not.toContain('SECRET');
    const sent = world.internet.sentTo(UPSTREAM).at(-1);
    expect(sent?.headers.get('Authorization')).toBe('Bearer sk_SECRET');
    expect(sent?.headers.get('Idempotency-Key')).toBe(permission.token.id);
  });

  it('is not sent again while it is not known to have failed', async () => {
    const { world, account, agent, connection } = await makeConnectionScene();
    await approveAll(account);
    const keyed = { headers: { 'Idempotency-Key': 'k-1' } };
    for (const call of [{}, keyed]) {
      const sent = receivedBy(world).length;
      expect((await callUpstream(agent, connection, call)).status).toBe(200);
      const again = await callUpstream(agent, connection, call);
      expect(codeOf(again)).toEqual([409, 'already_used']);
      expect(again.body.outcome.status).toBe('succeeded');
      expect(receivedBy(world).length).toBe(sent + 1);
      world.advance(601 * SECOND);
    }
    // Without a key, the same call is another act after `repeat_after`; with a key it never is.
    expect((await callUpstream(agent, connection)).status).toBe(200);
    expect(codeOf(await callUpstream(agent, connection, keyed))).toEqual([409, 'already_used']);
  });

  it('may be repeated after it failed, and not when that is unknown', async () => {
    const { world, account, agent, connection } = await makeConnectionScene();
    await approveAll(account);
    const statuses: [number, string, number][] = [
      [400, 'failed', 200],
      [404, 'failed', 200],
      [307, 'failed', 200],
      [409, 'unknown', 409],
      [500, 'unknown', 409],
      [302, 'unknown', 409],
    ];
    for (const [i, [status, outcome, again]] of statuses.entries()) {
      const call = { body: { amount: i } };
      world.internet.on(UPSTREAM, () => new Response('{}', { status }));
      const first = await callUpstream(agent, connection, call);
      expect(first.status).toBe(status);
      const id = first.headers.get('Countersign-Permission');
      const permission = (await agent.must(200, 'GET', `/v1/permissions/${id}`)).body;
      expect([status, permission.outcome.status]).toEqual([status, outcome]);
      world.internet.on(UPSTREAM, () => Response.json({}));
      expect([status, (await callUpstream(agent, connection, call)).status]).toEqual([
        status,
        again,
      ]);
    }
  });

  it.runIf(depth.isDeep)('is sent once, of 50 equal calls at the same time', async () => {
    const { world, account, agent, connection } = await makeConnectionScene();
    await approveAll(account);
    for (const headers of [{}, { 'Idempotency-Key': 'k-2' }] as Record<string, string>[]) {
      const sent = receivedBy(world).length;
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => callUpstream(agent, connection, { headers })),
      );
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([200, ...Array(49).fill(409)]);
      expect(receivedBy(world).length).toBe(sent + 1);
      world.advance(601 * SECOND);
    }
  });
});

describe('a call that waits for people', () => {
  it('is answered pending after the wait, and sent by the same call once it is approved', async () => {
    const { world, account, agent, connection } = await makeConnectionScene();
    const pending = await callUpstream(agent, connection);
    expect(codeOf(pending)).toEqual([403, 'permission_pending']);
    expect(pending.headers.get('Countersign-Refusal')).toBe('permission_pending');
    expect(world.pauses.reduce((sum, each) => sum + each, 0)).toBe(25 * SECOND);
    const [request] = await pendingOf(agent);
    expect(pending.body.permission_id).toBe(request.id);
    await account.must(200, 'POST', `/v1/permissions/${request.id}/approve`, {});
    expect(receivedBy(world)).toEqual([]);
    expect((await callUpstream(agent, connection)).status).toBe(200);
    expect(receivedBy(world)).toEqual(['POST /v1/payouts']);
    expect(await eventsOf(account)).toEqual(['request', 'approve', 'use']);
  });

  it('is sent as soon as it is approved while it waits', async () => {
    const { world, account, agent, connection } = await makeConnectionScene();
    world.whileAsleep = async () => {
      world.whileAsleep = async () => undefined;
      const [request] = await pendingOf(agent);
      await account.must(200, 'POST', `/v1/permissions/${request.id}/approve`, {});
    };
    expect((await callUpstream(agent, connection)).status).toBe(200);
    expect(receivedBy(world)).toEqual(['POST /v1/payouts']);
  });

  it('is taken over by a call with a new key, and leads both keys to one act', async () => {
    const { world, account, agent, connection } = await makeConnectionScene();
    const call = (key: string) =>
      callUpstream(agent, connection, { headers: { 'Idempotency-Key': key } });
    expect(codeOf(await call('sdk-1'))).toEqual([403, 'permission_pending']);
    expect(codeOf(await call('sdk-2'))).toEqual([403, 'permission_pending']);
    const requests = await pendingOf(agent);
    expect(requests.length).toBe(1);
    await account.must(200, 'POST', `/v1/permissions/${requests[0].id}/approve`, {});
    expect((await call('sdk-3')).status).toBe(200);
    for (const key of ['sdk-1', 'sdk-2', 'sdk-3'])
      expect(codeOf(await call(key))).toEqual([409, 'already_used']);
    expect(receivedBy(world)).toEqual(['POST /v1/payouts']);
  });

  it('is denied again after a denial: with a key for good, without one for a while', async () => {
    const { world, account, agent, connection } = await makeConnectionScene({ wait: 0 });
    const keyed = { headers: { 'Idempotency-Key': 'k' }, body: { amount: 1 } };
    for (const call of [{}, keyed]) await callUpstream(agent, connection, call);
    for (const { id } of await pendingOf(agent))
      await account.must(200, 'POST', `/v1/permissions/${id}/deny`, { reason: 'Too much' });
    for (const call of [{}, keyed]) {
      const denied = await callUpstream(agent, connection, call);
      expect(codeOf(denied)).toEqual([403, 'permission_denied']);
      expect(denied.body.decision_reason).toBe('Too much');
    }
    world.advance(601 * SECOND);
    expect(codeOf(await callUpstream(agent, connection))).toEqual([403, 'permission_pending']);
    expect(codeOf(await callUpstream(agent, connection, keyed))).toEqual([
      403,
      'permission_denied',
    ]);
    expect(receivedBy(world)).toEqual([]);
  });

  it('is expired after its end, a withdrawal, and the end of its token', async () => {
    const { world, account, agent, connection } = await makeConnectionScene({ wait: 0 });
    const call = (amount: number) => callUpstream(agent, connection, { body: { amount } });
    for (const amount of [1, 2, 3, 4])
      expect(codeOf(await call(amount))).toEqual([403, 'permission_pending']);
    const [fourth, third, second] = await pendingOf(agent);
    await agent.must(200, 'POST', `/v1/permissions/${second.id}/withdraw`, {});
    expect(codeOf(await call(2))).toEqual([403, 'permission_expired']);
    await account.must(200, 'POST', `/v1/permissions/${third.id}/approve`, {});
    world.advance(900 * SECOND);
    expect(codeOf(await call(3))).toEqual([403, 'permission_expired']);
    const approved = await account.must(200, 'POST', `/v1/permissions/${fourth.id}/approve`, {});
    await account.must(200, 'POST', '/v1/tokens/revoke', { token_id: approved.body.token.id });
    expect(codeOf(await call(4))).toEqual([403, 'permission_denied']);
    world.advance(2_700 * SECOND);
    expect(codeOf(await call(1))).toEqual([403, 'permission_expired']);
    expect(receivedBy(world)).toEqual([]);
  });

  it('refuses a key with another input', async () => {
    const { agent, connection } = await makeConnectionScene({ wait: 0 });
    const headers = { 'Idempotency-Key': 'k' };
    await callUpstream(agent, connection, { headers });
    const other = await callUpstream(agent, connection, { headers, body: { amount: 9 } });
    expect(codeOf(other)).toEqual([422, 'idempotency_key_reuse']);
  });
});

describe('the permission of a connection', () => {
  it('works nowhere else, and its approvers narrow neither scope nor uses', async () => {
    const { account, agent, connection } = await makeConnectionScene({ wait: 0 });
    await callUpstream(agent, connection);
    const [{ id }] = await pendingOf(agent);
    const approve = (fields: Json) => account.call('POST', `/v1/permissions/${id}/approve`, fields);
    for (const [field, value] of Object.entries({ scope: { amount: 4 } })) {
      const refused = await approve({ [field]: value });
      expect([codeOf(refused), refused.body.errors[0].path]).toEqual([
        [400, 'invalid_request'],
        `body.${field}`,
      ]);
    }
    const approved = await approve({ scope: { amount: 5 }, max_uses: 1, token_ttl: 60 });
    expect(approved.status).toBe(200);
    expect(
      (await agent.must(200, 'GET', `/v1/permissions/${id}`)).body.token.value,
    ).toBeUndefined();
    const report = await agent.call('POST', `/v1/permissions/${id}/outcome`, { status: 'failed' });
    expect(report.status).toBe(409);
    expect((await callUpstream(agent, connection)).status).toBe(200);
    const lie = await agent.call('POST', `/v1/permissions/${id}/outcome`, { status: 'failed' });
    expect(codeOf(lie)).toEqual([403, 'wrong_reporter']);
  });
});

describe('nothing is sent', () => {
  it('for another account, another agent, an unknown connection, a user, or a browser', async () => {
    const { world, account, agent, connection, otherAgent, otherConnection } =
      await makeConnectionScene();
    await approveAll(account);
    const sibling = await account.agent();
    for (const caller of [otherAgent, sibling])
      expect(codeOf(await callUpstream(caller, connection))).toEqual([404, 'not_found']);
    expect(codeOf(await callUpstream(agent, otherConnection))).toEqual([404, 'not_found']);
    for (const id of ['conn_x', connection.id.replace('_', '%5F'), connection.id.toUpperCase()])
      expect(codeOf(await callUpstream(agent, { id }))).toEqual([404, 'not_found']);
    const navigate = { headers: { 'Sec-Fetch-Mode': 'navigate' } };
    expect(codeOf(await callUpstream(agent, connection, navigate))).toEqual([404, 'not_found']);
    const user = { account, key: account.token } as unknown as TestAgent;
    expect(codeOf(await callUpstream(user, connection))).toEqual([403, 'wrong_credential']);
    expect(receivedBy(world)).toEqual([]);
  });

  it('while the account is stopped, the agent or the connection is inactive, or was deleted', async () => {
    const { world, account, agent, connection } = await makeConnectionScene();
    await approveAll(account);
    const path = `/v1/connections/${connection.id}`;
    for (const method of ['GET', 'POST']) {
      const call = () => callUpstream(agent, connection, { method });
      await account.must(200, 'POST', '/v1/me/stop', { reason: 'Test' });
      expect(codeOf(await call())).toEqual([403, 'account_stopped']);
      await account.must(200, 'POST', '/v1/me/resume', {});
      await account.must(200, 'PUT', path, { is_active: false });
      expect(codeOf(await call())).toEqual([403, 'connection_refused']);
      await account.must(200, 'PUT', path, { is_active: true });
      await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { is_active: false });
      expect(codeOf(await call())).toEqual([403, 'agent_inactive']);
      await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { is_active: true });
    }
    await account.must(204, 'DELETE', path);
    expect(codeOf(await callUpstream(agent, connection))).toEqual([404, 'not_found']);
    expect(receivedBy(world)).toEqual([]);
  });

  it('if the connection is switched off or changed while the call waits', async () => {
    const { world, account, agent, connection } = await makeConnectionScene();
    const path = `/v1/connections/${connection.id}`;
    world.whileAsleep = async () => {
      world.whileAsleep = async () => undefined;
      const [request] = await pendingOf(agent);
      await account.must(200, 'POST', `/v1/permissions/${request.id}/approve`, {});
      await account.must(200, 'PUT', path, { rules: [{ effect: 'deny' }] });
    };
    expect(codeOf(await callUpstream(agent, connection))).toEqual([403, 'connection_refused']);
    expect(receivedBy(world)).toEqual([]);
  });

  it.each<[string, [number, string], (account: TestAccount, ids: Json) => Promise<unknown>]>([
    [
      'the connection is switched off',
      [403, 'connection_refused'],
      (account, { connection }) =>
        account.must(200, 'PUT', `/v1/connections/${connection}`, { is_active: false }),
    ],
    [
      'the connection is deleted',
      [404, 'not_found'],
      (account, { connection }) => account.must(204, 'DELETE', `/v1/connections/${connection}`),
    ],
    [
      'a rule denies it',
      [403, 'connection_refused'],
      (account, { connection }) =>
        account.must(200, 'PUT', `/v1/connections/${connection}`, { rules: [] }),
    ],
    [
      'the account is stopped',
      [403, 'account_stopped'],
      (account) => account.must(200, 'POST', '/v1/me/stop', { reason: 'Test' }),
    ],
    [
      'the agent is switched off',
      [403, 'agent_inactive'],
      (account, { agent }) => account.must(200, 'PUT', `/v1/agents/${agent}`, { is_active: false }),
    ],
  ])('if %s just before the use is taken', async (_, refusal, change) => {
    for (const isApprovedByPeople of [false, true]) {
      const database = new FaultyDatabase(env.DB);
      const scene = await makeConnectionScene({ wait: 0 }, new World({ DB: database.binding }));
      const { world, account, agent, connection } = scene;
      if (isApprovedByPeople) {
        await callUpstream(agent, connection);
        const [{ id }] = await pendingOf(agent);
        await account.must(200, 'POST', `/v1/permissions/${id}/approve`, {});
      } else {
        await approveAll(account);
      }
      const ids = { connection: connection.id, agent: agent.id };
      // A call without a key first tries to make a new request, and learns then that it leads to an approval.
      const attempt = isApprovedByPeople ? 2 : 1;
      database.before(attempt, () => change(account, ids), /insert into audit_entries/);
      expect(codeOf(await callUpstream(agent, connection))).toEqual(refusal);
      expect(receivedBy(world)).toEqual([]);
      expect(await eventsOf(account)).not.toContain('use');
    }
  });

  it('by what no rule allows', async () => {
    const { world, agent, connection } = await makeConnectionScene();
    const refused = await callUpstream(agent, connection, { method: 'DELETE', body: null });
    expect(codeOf(refused)).toEqual([403, 'connection_refused']);
    expect(receivedBy(world)).toEqual([]);
  });
});

describe('a call that a rule allows', () => {
  it('is sent without an entry, and counted', async () => {
    const { world, account, agent, connection } = await makeConnectionScene();
    const calls = ['/payouts', '/payouts?limit=1'];
    for (const path of calls)
      expect((await callUpstream(agent, connection, { method: 'GET', path })).status).toBe(200);
    expect(receivedBy(world)).toEqual(['GET /v1/payouts', 'GET /v1/payouts']);
    expect(await account.log()).toEqual([]);
    const { results } = await env.DB.prepare(
      'select reads.count from connection_reads as reads join agents on agents.number = reads.agent where agents.id = ?',
    )
      .bind(idBytes(agent.id))
      .all();
    expect(results).toEqual([{ count: 2 }]);
  });
});
