import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { depth } from '../support/depth';
import { FaultyDatabase } from '../support/faults';
import { makeMember } from '../support/members';
import { orderHeldMove, settleMoves } from '../support/moves';
import { makeReview } from '../support/reviews';
import { makeWebhook } from '../support/webhooks';
import { type Answer, type Json, type TestAccount, World } from '../support/world';

const operator = env.ADMIN_TOKEN ?? '';
const REFUSED = [403, 'account_stopped'];
const codeOf = ({ status, body }: Answer) => [status, body?.code];

/**
 * Three accounts with different histories, of which the second is tested: the first and the last
 * have a token each that is used while the second is stopped.
 */
async function makeScene(world = new World()) {
  const first = await world.account();
  const firstAgent = await first.agent();
  await firstAgent.approved();
  await first.agent();
  const account = await world.account();
  await account.agent();
  const agent = await account.agent();
  const last = await world.account();
  const lastAgent = await last.agent();
  const others = [
    { account: first, agent: firstAgent, permission: await firstAgent.approved({ max_uses: 50 }) },
    { account: last, agent: lastAgent, permission: await lastAgent.approved({ max_uses: 50 }) },
  ];
  return { world, account, agent, others };
}

type Scene = Awaited<ReturnType<typeof makeScene>>;

const stop = (account: TestAccount, body: Json = {}) =>
  account.must(200, 'POST', '/v1/me/stop', body);
const resume = (account: TestAccount) => account.must(200, 'POST', '/v1/me/resume');

/** Checks that the other accounts of a scene work. */
async function expectOthersRun({ others }: Scene): Promise<void> {
  for (const { account, agent, permission } of others) {
    expect((await account.must(200, 'GET', '/v1/me')).body.stopped).toBeNull();
    await agent.must(200, 'POST', '/v1/tokens/use', { token: permission.token.value });
    const { id } = await agent.request();
    await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
  }
}

describe('a stop', () => {
  it('says who, when and why, to the account and the operator, and stays the first one', async () => {
    const scene = await makeScene();
    const { world, account } = scene;
    expect((await account.must(200, 'GET', '/v1/me')).body.stopped).toBeNull();
    const member = await makeMember(account, 'approver');
    const call = { token: member.token, body: { reason: '  The bot mails everybody ' } };
    const { body } = await world.must(200, 'POST', '/v1/me/stop', call);
    const stopped = {
      at: new Date(world.now).toISOString(),
      by: member.id,
      reason: 'The bot mails everybody',
    };
    expect(body).toEqual({ stopped });
    world.advance(1_000);
    const again = await stop(account, { reason: 'Another' });
    expect(again.body).toEqual({ stopped });
    expect((await account.must(200, 'GET', '/v1/me')).body.stopped).toEqual(stopped);
    const path = `/v1/admin/users/${account.id}`;
    const seen = await world.must(200, 'GET', path, { token: operator });
    expect(seen.body.stopped).toEqual(stopped);
    const activity = (await account.must(200, 'GET', '/v1/activity?action=account.stopped')).body;
    expect(activity.data).toMatchObject([{ actor: member.id, target: account.id, changes: [] }]);
    await expectOthersRun(scene);
    expect((await resume(account)).body).toEqual({ stopped: null });
    expect((await resume(account)).body).toEqual({ stopped: null });
    const resumed = (await account.must(200, 'GET', '/v1/activity?action=account.resumed')).body;
    expect(resumed.data).toMatchObject([{ actor: account.tokenId, target: account.id }]);
    expect((await stop(account)).body.stopped).toMatchObject({ by: account.id, reason: null });
  });

  it('that is repeated writes nothing, nor does a resume of an account that runs', async () => {
    const { account } = await makeScene();
    // The first call of a minute also records the use of the credential.
    expect((await resume(account)).cost.written).toBeLessThanOrEqual(1);
    expect((await resume(account)).cost.written).toBe(0);
    await stop(account);
    expect((await stop(account)).cost.written).toBe(0);
  });

  it('ignores the idempotency key, like the resume', async () => {
    const { world, account } = await makeScene();
    const headers = { 'Idempotency-Key': 'the same' };
    const call = (path: string, body = {}) =>
      world.must(200, 'POST', path, { token: account.token, headers, body });
    const first = await call('/v1/me/stop', { reason: 'One' });
    await call('/v1/me/resume');
    const second = await call('/v1/me/stop', { reason: 'Two' });
    expect([first, second].map(({ body }) => body.stopped.reason)).toEqual(['One', 'Two']);
    expect(second.headers.has('Idempotent-Replayed')).toBe(false);
    const odd = { token: account.token, headers: { 'Idempotency-Key': 'ü' }, body: {} };
    await world.must(200, 'POST', '/v1/me/stop', odd);
  });

  it('needs `permissions:decide` or `account:write`, a resume `account:write`', async () => {
    const { world, account } = await makeScene();
    const ability = async (token: string) => {
      const [stopped, resumed] = [
        await world.call('POST', '/v1/me/stop', { token, body: {} }),
        await world.call('POST', '/v1/me/resume', { token, body: {} }),
      ];
      await resume(account);
      return [stopped.status, resumed.status];
    };
    const may: Json = {};
    for (const role of ['owner', 'admin', 'approver', 'developer', 'auditor'])
      may[role] = await ability((await makeMember(account, role)).token);
    expect(may).toEqual({
      owner: [200, 200],
      admin: [200, 200],
      approver: [200, 403],
      developer: [403, 403],
      auditor: [403, 403],
    });
    expect(await ability(await account.limitedToken('permissions:decide'))).toEqual([200, 403]);
    expect(await ability(await account.limitedToken('account:write'))).toEqual([200, 200]);
    const agent = await account.agent();
    expect(codeOf(await agent.call('POST', '/v1/me/stop', {}))).toEqual([403, 'wrong_credential']);
    const member = await makeMember(account, 'approver');
    await account.must(200, 'PUT', `/v1/members/${member.id}`, { status: 'suspended' });
    const suspended = await world.call('POST', '/v1/me/stop', { token: member.token, body: {} });
    expect(suspended.status).toBeGreaterThanOrEqual(401);
    expect((await account.must(200, 'GET', '/v1/me')).body.stopped).toBeNull();
  });

  it('refuses requests, uses, approvals and statements; all else goes on', async () => {
    const scene = await makeScene();
    const { world, account, agent } = scene;
    const policy = { name: 'P', effect: 'approve', actions: ['auto.do'], resources: ['*'] };
    await account.must(201, 'POST', '/v1/policies', policy);
    const approved = await agent.approved({ max_uses: 3 });
    const { id } = await agent.request();
    const { id: denied } = await agent.request();
    const { id: withdrawn } = await agent.request();
    const token = approved.token.value;
    const person = await makeMember(account, 'owner');
    await stop(account);

    expect(codeOf(await agent.call('POST', '/v1/permissions', {}))).toEqual([
      400,
      'invalid_request',
    ]);
    const disagreeing = {
      action: 'auto.do',
      resource: 'a:b',
      input: 1,
      input_digest: `sha-256:${'A'.repeat(43)}`,
    };
    expect(codeOf(await agent.call('POST', '/v1/permissions', disagreeing))).toEqual([
      400,
      'invalid_request',
    ]);
    for (const action of ['email.send', 'auto.do']) {
      const body = { action, resource: 'mailbox:support' };
      expect(codeOf(await agent.call('POST', '/v1/permissions', body))).toEqual(REFUSED);
    }
    for (const caller of [agent, account]) {
      expect(codeOf(await caller.call('POST', '/v1/tokens/use', {}))[0]).toBe(400);
      expect(codeOf(await caller.call('POST', '/v1/tokens/use', { token }))).toEqual(REFUSED);
      expect(codeOf(await caller.call('POST', '/v1/tokens/use', { token: 'x' }))).toEqual(REFUSED);
      const introspected = await caller.must(200, 'POST', '/v1/tokens/introspect', { token });
      expect(introspected.body).toEqual({ active: false });
    }
    const path = `/v1/permissions/${id}`;
    expect(codeOf(await account.call('POST', `${path}/approve`, {}))).toEqual(REFUSED);
    const decided = `/v1/permissions/${approved.id}/approve`;
    expect(codeOf(await account.call('POST', decided, {}))).toEqual([409, 'not_pending']);
    const sign = (decision: string) =>
      world.call('POST', `${path}/statement`, { token: person.token, body: { decision } });
    expect(codeOf(await sign('approve'))).toEqual(REFUSED);
    expect((await sign('deny')).status).toBe(200);

    const read = (await agent.must(200, 'GET', `/v1/permissions/${approved.id}`)).body;
    expect(read.token).toMatchObject({ status: 'active' });
    expect(read.token).not.toHaveProperty('value');
    const { data } = (await agent.must(200, 'GET', '/v1/permissions')).body;
    expect(data.map(({ token }: Json) => token?.value ?? null)).toEqual(data.map(() => null));

    await account.must(200, 'POST', `/v1/permissions/${denied}/deny`, {});
    await agent.must(200, 'POST', `/v1/permissions/${withdrawn}/withdraw`, {});
    expect((await account.log()).map(({ event_type }) => event_type).sort()).toEqual(
      ['request', 'request', 'request', 'request', 'approve', 'deny', 'expire'].sort(),
    );
    await expectOthersRun(scene);

    await resume(account);
    await agent.must(200, 'POST', '/v1/tokens/use', { token });
    const again = (await agent.must(200, 'GET', `/v1/permissions/${approved.id}`)).body;
    expect(again.token.value).toBe(token);
    await account.must(200, 'POST', `${path}/approve`, {});
    await stop(account);
    await agent.must(200, 'POST', '/v1/tokens/revoke', { token });
    expect((await account.log('&event_type=revoke')).length).toBe(1);
  });

  it('comes before stored answers and external ids, which are valid again after the resume', async () => {
    const { world, account, agent } = await makeScene();
    const { token } = await agent.approved({ max_uses: 3 });
    const calls = [
      ['/v1/permissions', { action: 'email.send', resource: 'a:b', external_id: 'x' }],
      ['/v1/tokens/use', { token: token.value }],
    ] as const;
    const send = (path: string, body: object, key: string) =>
      world.call('POST', path, {
        token: agent.key,
        body,
        headers: { 'Idempotency-Key': key },
      });
    for (const [path, body] of calls) {
      const [used, fresh] = [`${path}/1`, `${path}/2`];
      const first = await send(path, body, used);
      await stop(account);
      expect(codeOf(await send(path, body, used))).toEqual(REFUSED);
      expect(codeOf(await send(path, { ...body, action: 'other.do' }, used))).toEqual(REFUSED);
      expect(codeOf(await send(path, body, fresh))).toEqual(REFUSED);
      expect(codeOf(await send(path, {}, used))).toEqual([400, 'invalid_request']);
      expect(codeOf(await send(path, body, 'k ü'))[0]).toBe(400);
      await resume(account);
      const replayed = await send(path, body, used);
      expect([replayed.status, replayed.text]).toEqual([first.status, first.text]);
      expect(replayed.headers.get('Idempotent-Replayed')).toBe('true');
      await world.call('POST', '/v1/permissions', { token: agent.key, body });
    }
  });

  it('lets a waiting GET wait on, and gives no token that was approved before', async () => {
    const { world, account, agent } = await makeScene();
    const { id } = await agent.request();
    let looks = 0;
    world.whileAsleep = async () => {
      looks += 1;
      if (looks === 1) await stop(account);
    };
    const waited = await agent.must(200, 'GET', `/v1/permissions/${id}?wait=3`);
    expect([waited.body.status, looks]).toEqual(['pending', 3]);
    world.whileAsleep = async () => undefined;
    await resume(account);
    world.whileAsleep = async () => {
      world.whileAsleep = async () => undefined;
      await account.must(200, 'POST', `/v1/permissions/${id}/approve`, {});
      await stop(account);
    };
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${id}?wait=3`);
    expect(body.status).toBe('approved');
    expect(body.token).not.toHaveProperty('value');
  });

  it('refuses approving votes after `not_pending`, and lets people deny', async () => {
    const world = new World();
    await makeScene(world);
    const { account, agent, people } = await makeReview({ approvals: 2 }, undefined, { world });
    const { id } = await agent.request();
    const vote = (index: number, what = 'approve') =>
      world.call('POST', `/v1/permissions/${id}/${what}`, {
        token: people[index]?.token ?? '',
        body: {},
      });
    expect((await vote(0)).body.status).toBe('pending');
    await stop(account);
    expect(codeOf(await vote(0))).toEqual(REFUSED);
    expect(codeOf(await vote(1))).toEqual(REFUSED);
    expect(codeOf(await account.call('POST', `/v1/permissions/${id}/approve`, {}))).toEqual(
      REFUSED,
    );
    const { review } = (await account.must(200, 'GET', `/v1/permissions/${id}`)).body;
    expect(review.votes).toHaveLength(1);
    expect((await vote(1, 'deny')).body.status).toBe('denied');
    expect(codeOf(await vote(2))).toEqual([409, 'not_pending']);
  });

  it('is ended by the operator', async () => {
    const scene = await makeScene();
    const { world, account, others } = scene;
    await stop(account);
    const patch = (body: Json, id = account.id) =>
      world.must(200, 'PATCH', `/v1/admin/users/${id}`, { token: operator, body });
    expect((await patch({ name: 'Changed' })).body.stopped).toMatchObject({ by: account.id });
    expect((await patch({ stopped: null })).body.stopped).toBeNull();
    await stop(account);
    expect((await patch({ stopped: null, name: 'Again' })).body).toMatchObject({
      stopped: null,
      name: 'Again',
    });
    const unchanged = await patch({ stopped: null }, others[1]?.account.id);
    expect([unchanged.body.stopped, unchanged.cost.written]).toEqual([null, 0]);
    const { data } = (await account.must(200, 'GET', '/v1/activity?actor=operator')).body;
    expect(data.map(({ action, changes }: Json) => [action, changes]).slice(0, 4)).toEqual(
      expect.arrayContaining([
        ['account.updated', ['name']],
        ['account.resumed', []],
        ['account.resumed', []],
      ]),
    );
    const refused = await world.call('PATCH', `/v1/admin/users/${account.id}`, {
      token: operator,
      body: { stopped: { reason: 'x' } },
    });
    expect(codeOf(refused)).toEqual([400, 'invalid_request']);
    expect(refused.body.errors).toEqual([{ path: 'body.stopped', message: 'must be null' }]);
  });
});

describe('a stop that commits while a request is on its way', () => {
  /** Stops the account between the authentication and the write of the next request. */
  async function makeRace() {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    const scene = await makeScene(world);
    const other = new World();
    const token = scene.account.token;
    const stopMeanwhile = () => {
      world.restart();
      database.before(2, () => other.must(200, 'POST', '/v1/me/stop', { token, body: {} }));
    };
    return { ...scene, stopMeanwhile };
  }

  it('refuses a request, a use and an approval', async () => {
    const { account, agent, stopMeanwhile } = await makeRace();
    const policy = { name: 'P', effect: 'approve', actions: ['auto.do'], resources: ['*'] };
    await account.must(201, 'POST', '/v1/policies', policy);
    const { token } = await agent.approved();
    const { id } = await agent.request();
    const calls = [
      () => agent.call('POST', '/v1/permissions', { action: 'a.b', resource: 'a:b' }),
      () => agent.call('POST', '/v1/permissions', { action: 'auto.do', resource: 'a:b' }),
      () => agent.call('POST', '/v1/tokens/use', { token: token.value }),
      () => account.call('POST', `/v1/permissions/${id}/approve`, {}),
    ];
    const before = (await account.log()).length;
    for (const call of calls) {
      stopMeanwhile();
      expect(codeOf(await call())).toEqual(REFUSED);
      await resume(account);
    }
    expect(await account.log()).toHaveLength(before);
    stopMeanwhile();
    expect((await account.call('POST', `/v1/permissions/${id}/deny`, {})).status).toBe(200);
  });

  it('refuses a vote that does not decide yet, and one that does', async () => {
    const database = new FaultyDatabase(env.DB);
    const world = new World({ DB: database.binding });
    await makeScene(world);
    const { account, agent, people } = await makeReview({ approvals: 2 }, undefined, { world });
    const { id } = await agent.request();
    const other = new World();
    for (const person of people.slice(0, 2)) {
      database.before(2, () =>
        other.must(200, 'POST', '/v1/me/stop', { token: account.token, body: {} }),
      );
      const approve = () =>
        world.call('POST', `/v1/permissions/${id}/approve`, { token: person.token, body: {} });
      expect(codeOf(await approve())).toEqual(REFUSED);
      await resume(account);
      expect((await approve()).status).toBe(200);
    }
    expect((await account.must(200, 'GET', `/v1/permissions/${id}`)).body.status).toBe('approved');
  });

  it.runIf(depth.isDeep).each(depth.cases([30, 50, 70, 100], 4))(
    'lets nothing through after it, when it comes before call %i of 160 that run at once',
    async (place) => {
      const database = new FaultyDatabase(env.DB);
      const world = new World({ DB: database.binding });
      const scene = await makeScene(world);
      const { account, agent } = scene;
      const policy = { name: 'P', effect: 'approve', actions: ['auto.do'], resources: ['*'] };
      await account.must(201, 'POST', '/v1/policies', policy);
      const { token } = await agent.approved({ max_uses: 100 });
      const waiting: string[] = [];
      for (let i = 0; i < 20; i++) waiting.push((await agent.request()).id);
      await recordStops();
      const other = new World();
      database.before(place, () =>
        other.must(200, 'POST', '/v1/me/stop', { token: account.token, body: {} }),
      );
      // Five sets of four run at the same time, each one call after the other.
      const lanes = Array.from({ length: 5 }, (_, lane) => waiting.slice(lane * 4, lane * 4 + 4));
      const kinds = [
        () => agent.call('POST', '/v1/permissions', { action: 'a.b', resource: 'a:b' }),
        () => agent.call('POST', '/v1/permissions', { action: 'auto.do', resource: 'a:b' }),
        () => agent.call('POST', '/v1/tokens/use', { token: token.value }),
        (id: string) => account.call('POST', `/v1/permissions/${id}/approve`, {}),
      ];
      const answers: Answer[] = [];
      await Promise.all(
        lanes.flatMap((ids) =>
          kinds.map(async (call) => {
            for (const id of ids) answers.push(await call(id));
          }),
        ),
      );
      const log = await account.log();
      expect(log.at(-1).sequence).toBe(await sequenceAtStop());
      const refused = answers.filter(({ status }) => status >= 300).map(codeOf);
      expect(refused.length).toBeGreaterThan(5);
      expect(refused).toEqual(refused.map(() => REFUSED));
      // What was answered as done is in the log, and nothing else: a policy makes two entries.
      const byPolicy = log.filter(({ details }) => details.decided_via === 'policy');
      const done = answers.length - refused.length;
      expect(done).toBeGreaterThan(0);
      expect(log.length).toBe(22 + done + byPolicy.length);
      await expectOthersRun(scene);
    },
  );
});

it.runIf(depth.isDeep)('a stop moves with the account, and is told after the move', async () => {
  const world = new World();
  const scene = await makeScene(world);
  const { account, agent } = scene;
  const { token } = await agent.approved();
  await makeWebhook(account, {
    url: 'https://moved.example.com/',
    events: ['account.stopped', 'account.resumed'],
  });
  const received: string[] = [];
  world.internet.on('moved.example.com', ({ body }) => {
    received.push(JSON.parse(body).event);
    return new Response();
  });
  Object.assign(world.env, { DB_01: env.DB_01 });
  const { stopped } = (await stop(account, { reason: 'A drill' })).body;
  world.deliveryQueue.take();
  await orderHeldMove(world, account.id, '01');
  expect((await account.call('POST', '/v1/me/resume')).status).toBe(503);
  await settleMoves(world);
  expect((await account.must(200, 'GET', '/v1/me')).body.stopped).toEqual(stopped);
  expect(codeOf(await agent.call('POST', '/v1/tokens/use', { token: token.value }))).toEqual(
    REFUSED,
  );
  await world.deliver();
  expect(received).toEqual(['account.stopped']);
  await expectOthersRun(scene);
  await resume(account);
  await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
  await world.deliver();
  expect(received).toEqual(['account.stopped', 'account.resumed']);
});

/** Records where each stop is in the log, in the transaction that stops the account. */
async function recordStops(): Promise<void> {
  await env.DB.batch(
    [
      'drop table if exists _stops',
      'create table _stops (sequence integer)',
      'drop trigger if exists _record_stops',
      `create trigger _record_stops after update of stopped_at on accounts
       when new.stopped_at is not null begin
         insert into _stops select max(pos) % 4294967296 from audit_entries
         where pos > new.number * 4294967296 and pos < (new.number + 1) * 4294967296;
       end`,
    ].map((statement) => env.DB.prepare(statement)),
  );
}

/** The sequence of the newest entry when the account was stopped. */
async function sequenceAtStop(): Promise<number | null> {
  const found = await env.DB.prepare('select sequence from _stops').first<number>('sequence');
  await env.DB.batch(
    ['drop trigger _record_stops', 'drop table _stops'].map((each) => env.DB.prepare(each)),
  );
  return found;
}
