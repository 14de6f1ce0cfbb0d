import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { FaultyDatabase } from '../../support/faults';
import { makeMember, makeToken } from '../../support/members';
import {
  makeOutcomeScene,
  REPORT_PERIOD,
  readOutcome,
  report,
  resultOf,
  usePromised,
} from '../../support/outcomes';
import { sealLogs } from '../../support/seal';
import { type Json, type TestAccount, World } from '../../support/world';

/** A member of an account as a caller. */
function callerOf({ world }: TestAccount, token: string) {
  return {
    call: (method: string, path: string, body?: unknown) =>
      world.call(method, path, { token, body }),
    must: (status: number, method: string, path: string, body?: unknown) =>
      world.must(status, method, path, { token, body }),
  } as unknown as TestAccount;
}

describe('a promised outcome', () => {
  it('is null before the use, then awaited, then as reported', async () => {
    const { world, account, agent } = await makeOutcomeScene();
    const { id, outcome, token } = await agent.approved({ reports_outcome: true });
    expect(outcome).toBeNull();
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    const awaited = { status: 'awaited', summary: null, reported_at: null, reported_by: null };
    expect(await readOutcome(agent, id)).toEqual(awaited);
    world.advance(1_500);
    const { body } = await report(agent, id, { status: 'failed', summary: ' The relay refused ' });
    const reported = {
      status: 'failed',
      summary: 'The relay refused',
      reported_at: new Date(world.now).toISOString(),
      reported_by: agent.id,
    };
    expect([body.id, body.outcome, body.updated_at]).toEqual([id, reported, reported.reported_at]);
    for (const caller of [agent, account]) expect(await readOutcome(caller, id)).toEqual(reported);
    const { data } = (await account.must(200, 'GET', '/v1/permissions?status=approved')).body;
    expect(data.map((each: Json) => each.outcome)).toEqual([reported]);
  });

  it('takes a request for one use', async () => {
    const { agent, account } = await makeOutcomeScene();
    const ask = (fields: Json) =>
      agent.call('POST', '/v1/permissions', { action: 'a.b', resource: 'a:b', ...fields });
    const refused = await ask({ reports_outcome: true, max_uses: 2 });
    expect(resultOf(refused)).toEqual([400, 'invalid_request']);
    expect(refused.body.errors[0].path).toBe('body.reports_outcome');
    expect((await ask({ reports_outcome: 'yes' })).status).toBe(400);
    expect((await ask({ reports_outcome: false, max_uses: 2 })).status).toBe(201);
    expect((await ask({ reports_outcome: true, max_uses: 1 })).status).toBe(201);
    expect((await account.log()).map(({ event_type }) => event_type)).toEqual([
      'request',
      'request',
    ]);
  });

  it('is awaited from a use of what a policy approved, whose limits may be capped', async () => {
    const { account, agent } = await makeOutcomeScene();
    const policy = { name: 'P', effect: 'approve', actions: ['auto.do'], resources: ['*'] };
    await account.must(201, 'POST', '/v1/policies', { ...policy, max_uses: 1 });
    const { id, token } = await agent.request({ action: 'auto.do', reports_outcome: true });
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    expect(resultOf(await report(agent, id))).toEqual([200, 'succeeded']);
  });

  it('leaves no trace in the audit log and in the activity', async () => {
    const { account, agent } = await makeOutcomeScene();
    const { id } = await usePromised(agent);
    const activity = async () => (await account.must(200, 'GET', '/v1/activity')).body.data.length;
    const before = [(await account.log()).length, await activity()];
    await report(agent, id, { status: 'failed', summary: 'SECRET-SUMMARY' });
    const log = await account.log();
    expect([log.length, await activity()]).toEqual(before);
    expect(JSON.stringify(log)).not.toMatch(/outcome|SECRET-SUMMARY/);
  });

  it('writes at most four rows more, and nothing where none is promised', async () => {
    const { account, agent } = await makeOutcomeScene();
    const rows = async (fields: Json, status?: string) => {
      const asked = await agent.must(201, 'POST', '/v1/permissions', {
        action: 'email.send',
        resource: 'mailbox:a',
        ...fields,
      });
      const path = `/v1/permissions/${asked.body.id}`;
      const approved = await account.must(200, 'POST', `${path}/approve`, {});
      const token = (await agent.must(200, 'GET', path)).body.token.value;
      const used = await agent.must(200, 'POST', '/v1/tokens/use', { token });
      const answers = [asked, approved, used];
      if (status) {
        const reported = await report(agent, asked.body.id, { status });
        expect(reported.cost.trips).toBe(2);
        answers.push(reported);
      }
      return answers.reduce((sum, { cost }) => sum + cost.written, 0);
    };
    // The first calls of a minute also record the use of the credentials.
    await rows({});
    const without = await rows({});
    const promised = { reports_outcome: true };
    const more: Json = {};
    for (const status of ['succeeded', 'failed', 'unknown'])
      more[status] = (await rows(promised, status)) - without;
    // The end of what is awaited is not counted: a deleted row of an index costs nothing.
    expect(more).toEqual({ succeeded: 2, failed: 4, unknown: 4 });
  });
});

describe('a report', () => {
  it('is refused in order: unknown, no promise, no use, another reporter, another report', async () => {
    const { world, account, agent, others } = await makeOutcomeScene();
    const sibling = await account.agent();
    const { id } = await usePromised(agent);
    const stranger = await others[0].agent();
    for (const caller of [sibling, stranger, others[0], others[1]])
      expect(resultOf(await report(caller, id))).toEqual([404, 'not_found']);
    expect(resultOf(await report(agent, 'perm_x'))).toEqual([404, 'not_found']);

    const plain = await agent.approved();
    await agent.must(200, 'POST', '/v1/tokens/use', { token: plain.token.value });
    for (const caller of [agent, account])
      expect(resultOf(await report(caller, plain.id))).toEqual([409, 'conflict']);
    const unused = await agent.approved({ reports_outcome: true });
    const waiting = await agent.request({ reports_outcome: true });
    for (const each of [unused, waiting]) {
      for (const caller of [agent, account])
        expect(resultOf(await report(caller, each.id))).toEqual([409, 'conflict']);
    }
    expect(resultOf(await report(account, id))).toEqual([403, 'wrong_reporter']);
    const body = { status: 'succeeded', summary: 'x'.repeat(1_001) };
    expect(resultOf(await report(agent, id, body))).toEqual([400, 'invalid_request']);
    for (const wrong of [{}, { status: 'awaited' }, { status: 'failed', more: 1 }])
      expect(resultOf(await report(agent, id, wrong))).toEqual([400, 'invalid_request']);

    expect(resultOf(await report(agent, id))).toEqual([200, 'succeeded']);
    expect(resultOf(await report(account, id))).toEqual([403, 'wrong_reporter']);
    for (const again of ['failed', 'unknown'])
      expect(resultOf(await report(agent, id, { status: again }))).toEqual([409, 'conflict']);
    const other = await report(agent, id, { status: 'succeeded', summary: 'Sent' });
    expect(resultOf(other)).toEqual([409, 'conflict']);
    expect(world.now).toBe(Date.UTC(2026, 0, 31, 12));
  });

  it('is taken from the member or the account that took the use, with the scope', async () => {
    const { world, account, agent } = await makeOutcomeScene();
    const [ada, bob] = [await makeMember(account, 'admin'), await makeMember(account, 'owner')];
    const [asAda, asBob] = [callerOf(account, ada.token), callerOf(account, bob.token)];
    const { id } = await usePromised(agent, {}, asAda);
    for (const caller of [agent, account, asBob])
      expect(resultOf(await report(caller, id))).toEqual([403, 'wrong_reporter']);
    const reader = await makeMember(account, 'approver');
    const lacking = await report(callerOf(account, reader.token), id);
    expect(resultOf(lacking)).toEqual([403, 'insufficient_scope']);
    const another = callerOf(account, await makeToken(account, ada));
    expect((await report(another, id)).body.outcome.reported_by).toBe(ada.id);

    const { id: byAccount } = await usePromised(agent, {}, account);
    expect(resultOf(await report(asBob, byAccount))).toEqual([403, 'wrong_reporter']);
    const limited = callerOf(account, await account.limitedToken('tokens:use'));
    expect((await report(limited, byAccount)).body.outcome.reported_by).toBe(account.id);
    const withoutScope = await account.limitedToken('permissions:read');
    const { id: third } = await usePromised(agent, {}, account);
    expect(resultOf(await report(callerOf(account, withoutScope), third))).toEqual([
      403,
      'insufficient_scope',
    ]);
    expect(world.pauses).toEqual([]);
  });

  it('that is the same again is 200 and writes nothing', async () => {
    const { world, agent } = await makeOutcomeScene();
    const { id } = await usePromised(agent);
    const body = { status: 'failed', summary: 'Timeout' };
    const { body: first } = await report(agent, id, body);
    world.advance(REPORT_PERIOD);
    const again = await report(agent, id, body);
    expect([again.status, again.body.outcome]).toEqual([200, first.outcome]);
    // The first call of a minute also records the use of the credential.
    expect((await report(agent, id, body)).cost.written).toBe(0);
  });

  it('may follow `unknown`, reported or not, once', async () => {
    const { world, agent } = await makeOutcomeScene();
    const { id: told } = await usePromised(agent);
    expect(resultOf(await report(agent, told, { status: 'unknown' }))).toEqual([200, 'unknown']);
    const { id: silent } = await usePromised(agent);
    world.advance(REPORT_PERIOD);
    expect((await readOutcome(agent, silent)).status).toBe('unknown');
    await world.sweep();
    const { id: unswept } = await usePromised(agent);
    world.advance(REPORT_PERIOD);
    for (const id of [told, silent, unswept]) {
      expect(resultOf(await report(agent, id, { status: 'failed' }))).toEqual([200, 'failed']);
      expect(resultOf(await report(agent, id))).toEqual([409, 'conflict']);
    }
  });

  it('of `unknown` names its reporter, also after the time was over', async () => {
    const { world, agent } = await makeOutcomeScene();
    const { id } = await usePromised(agent);
    world.advance(REPORT_PERIOD);
    await world.sweep();
    const none = { status: 'unknown', summary: null, reported_at: null, reported_by: null };
    expect(await readOutcome(agent, id)).toEqual(none);
    const { body } = await report(agent, id, { status: 'unknown', summary: 'No answer came' });
    expect(body.outcome).toMatchObject({ reported_by: agent.id, summary: 'No answer came' });
    expect(resultOf(await report(agent, id))).toEqual([200, 'succeeded']);
  });

  it('is taken while the account is stopped', async () => {
    const { account, agent } = await makeOutcomeScene();
    const { id } = await usePromised(agent);
    await account.must(200, 'POST', '/v1/me/stop', {});
    expect(resultOf(await report(agent, id))).toEqual([200, 'succeeded']);
  });

  it('honours an idempotency key', async () => {
    const { world, agent } = await makeOutcomeScene();
    const { id } = await usePromised(agent);
    const send = (status: string) =>
      world.call('POST', `/v1/permissions/${id}/outcome`, {
        token: agent.key,
        body: { status },
        headers: { 'Idempotency-Key': 'one' },
      });
    const first = await send('unknown');
    const again = await send('unknown');
    expect([again.text, again.headers.get('Idempotent-Replayed')]).toEqual([first.text, 'true']);
    expect(resultOf(await send('failed'))).toEqual([422, 'idempotency_key_reuse']);
  });

  it('is shown and taken no more once the agent is deleted', async () => {
    const { account, agent } = await makeOutcomeScene();
    const { id } = await usePromised(agent, {}, account);
    await account.must(204, 'DELETE', `/v1/agents/${agent.id}`);
    expect(resultOf(await report(account, id))).toEqual([404, 'not_found']);
  });
});

describe('an outcome', () => {
  it('is erased with its permission, by retention and with its agent', async () => {
    const { world, account, agent } = await makeOutcomeScene();
    const second = await account.agent();
    const [old, other] = [await usePromised(agent), await usePromised(second)];
    const summary = 'TO-BE-ERASED';
    await report(agent, old.id, { status: 'failed', summary });
    const kept = async () => {
      const found = env.DB.prepare('select id from permissions where outcome_summary = ?');
      return (await found.bind(summary).all()).results.length;
    };
    expect(await kept()).toBe(1);
    await report(second, other.id, { status: 'unknown', summary });
    await account.must(204, 'DELETE', `/v1/agents/${second.id}`);
    world.advance(8 * 86_400_000);
    await sealLogs(env.DB);
    await world.clean();
    await world.sweep();
    expect(await kept()).toBe(0);
    expect(resultOf(await report(agent, old.id))).toEqual([404, 'not_found']);
  });
});

describe('reports at the same time', () => {
  it('have one winner; the same one is 200, the others are 409', async () => {
    const { agent } = await makeOutcomeScene();
    const { id } = await usePromised(agent);
    const statuses = ['succeeded', 'failed', 'succeeded', 'failed', 'succeeded', 'failed'];
    const answers = await Promise.all(statuses.map((status) => report(agent, id, { status })));
    const { status: winner } = await readOutcome(agent, id);
    expect(answers.map(({ status }) => status)).toEqual(
      statuses.map((status) => (status === winner ? 200 : 409)),
    );
  });

  it('are decided by what is stored when they commit', async () => {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    const { agent } = await makeOutcomeScene(world);
    const races = [
      { meanwhile: 'succeeded', afterwards: 'failed', is: [409, 'conflict'] },
      { meanwhile: 'failed', afterwards: 'unknown', is: [409, 'conflict'] },
      { meanwhile: 'failed', afterwards: 'failed', is: [200, 'failed'] },
      { meanwhile: 'unknown', afterwards: 'succeeded', is: [200, 'succeeded'] },
    ];
    for (const { meanwhile, afterwards, is } of races) {
      const { id } = await usePromised(agent);
      database.before(2, () => report(agent, id, { status: meanwhile }));
      expect(resultOf(await report(agent, id, { status: afterwards }))).toEqual(is);
    }
  });

  it('whose answer is lost are stored, and 200 when they are sent again', async () => {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    const { agent } = await makeOutcomeScene(world);
    const { id } = await usePromised(agent);
    database.arm({ call: 2, mode: 'after' });
    expect((await report(agent, id)).status).toBe(503);
    database.arm({ call: 2, mode: 'before' });
    expect(resultOf(await report(agent, id))).toEqual([200, 'succeeded']);
  });
});
