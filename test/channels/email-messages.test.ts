import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { depth } from '../support/depth';
import { makeMember, makeReachableMember, type TestMember } from '../support/members';
import { REPORT_PERIOD, report, usePromised } from '../support/outcomes';
import { MAIL_SETTINGS, Resend } from '../support/resend';
import { giveSeries, statusOf } from '../support/series';
import { makeWebhook } from '../support/webhooks';
import { type Json, type TestAccount, type TestAgent, World } from '../support/world';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

interface Scene {
  world: World;
  resend: Resend;
  account: TestAccount;
  agent: TestAgent;
  channel: Json;
}

/** An account with a channel for e-mail, and an agent that nobody owns. */
async function makeScene(fields: Json = {}): Promise<Scene> {
  scenes += 1;
  const world = new World(MAIL_SETTINGS);
  const resend = new Resend(world, domain());
  const account = await world.account({ email: address('office') });
  const agent = await account.agent({ name: 'Payer' });
  const { body: channel } = await account.must(201, 'POST', '/v1/channels', {
    kind: 'email',
    name: 'Mail',
    ...fields,
  });
  return { world, resend, account, agent, channel };
}

function person(account: TestAccount, role: string, name: string): Promise<TestMember> {
  return makeReachableMember(account, role, address(name));
}

/**
 * The number of the scene. Each has addresses of its own, because a sweep does the work of all
 * scenes of the file.
 */
let scenes = 0;
const domain = () => `scene-${scenes}.example.com`;
const address = (name: string) => `${name}@${domain()}`;

/** The subjects of the mails to a person, in order. */
const subjects = ({ resend }: Scene, name: string) =>
  resend.to(address(name)).map(({ subject }) => subject);

async function notifications(account: TestAccount, id: string): Promise<Json[]> {
  return (await account.must(200, 'GET', `/v1/permissions/${id}/notifications`)).body.data;
}

async function makeReviewPolicy(account: TestAccount, review: Json = {}): Promise<void> {
  const policy = { name: 'Reviewed', effect: 'review', actions: ['*'], resources: ['*'], review };
  await account.must(201, 'POST', '/v1/policies', policy);
}

describe('a request that waits for people', () => {
  it('is mailed to those who can decide it, and to nobody else', async () => {
    const scene = await makeScene();
    const { world, resend, account, agent } = scene;
    for (const role of ['owner', 'admin', 'approver', 'developer', 'auditor'])
      await person(account, role, role);
    const suspended = await person(account, 'approver', 'suspended');
    await account.must(200, 'PUT', `/v1/members/${suspended.id}`, { status: 'suspended' });
    await account.must(201, 'POST', '/v1/members', { email: address('invited'), role: 'approver' });
    const { id } = await agent.request({
      action: 'payment.send',
      reason: 'Invoice 4711',
      preview: { title: 'Pay Ada' },
    });
    await world.deliver();
    expect(resend.mails.map(({ to }) => to).sort()).toEqual(
      ['admin', 'approver', 'owner'].map(address).sort(),
    );
    const [mail] = resend.to(address('approver'));
    expect(mail?.from).toBe('Countersign <approvals@example.com>');
    expect(mail?.text).toContain(`https://countersign.test/console/permissions/${id}`);
    expect(mail?.text.replaceAll('\u2060', '')).toContain('payment.send');
    expect(await notifications(account, id)).toHaveLength(3);
    const path = `/v1/permissions/${id}/notifications`;
    const { body: first } = await account.must(200, 'GET', `${path}?limit=2`);
    const { body: second } = await account.must(
      200,
      'GET',
      `${path}?limit=2&cursor=${first.next_cursor}`,
    );
    expect([first.has_more, second.has_more, second.next_cursor]).toEqual([true, false, null]);
    expect([...first.data, ...second.data]).toEqual(await notifications(account, id));
    expect((await notifications(account, id))[0]).toMatchObject({
      channel_name: 'Mail',
      kind: 'email',
      event: 'permission.requested',
      permission_id: id,
      reminder: null,
      slack_channel: null,
      status: 'succeeded',
      attempts: 1,
      last_status_code: 200,
    });
  });

  it('is mailed to the reviewers of its policy, without the owner of its agent', async () => {
    const scene = await makeScene();
    const { world, account } = scene;
    const owner = await person(account, 'approver', 'owner');
    const reviewer = await person(account, 'approver', 'reviewer');
    await person(account, 'approver', 'other');
    await makeReviewPolicy(account, { members: [owner.id, reviewer.id] });
    const agent = await account.agent({ owner_id: owner.id });
    world.advance(1);
    await agent.request();
    await world.deliver();
    expect(scene.resend.mails.map(({ to }) => to)).toEqual([address('reviewer')]);
  });

  it('is mailed only if a channel wants its action, its agent and the event', async () => {
    const scene = await makeScene({ events: ['permission.decided'] });
    const { world, account, agent, resend } = scene;
    await person(account, 'approver', 'ada');
    const channel = (fields: Json) =>
      account.must(201, 'POST', '/v1/channels', { kind: 'email', name: 'Some', ...fields });
    await channel({ filter: { actions: ['payment.*', 'refund.pay'] } });
    const other = await account.agent();
    await channel({ filter: { agent_ids: [other.id] } });
    await agent.request({ action: 'email.send' });
    await world.deliver();
    expect(resend.mails).toHaveLength(0);
    await agent.request({ action: 'payment.send' });
    await agent.request({ action: 'refund.pay' });
    await other.request({ action: 'email.send' });
    await world.deliver();
    expect(resend.mails).toHaveLength(3);
  });

  it('is not mailed if a policy decides it at once', async () => {
    const scene = await makeScene();
    const { world, account, agent, resend } = scene;
    await person(account, 'approver', 'ada');
    const policy = { name: 'Fine', effect: 'approve', actions: ['*'], resources: ['*'] };
    await account.must(201, 'POST', '/v1/policies', policy);
    await agent.request();
    await world.deliver();
    expect(resend.mails).toHaveLength(0);
  });

  it('is not mailed if a series approves it at once, nor is the approval', async () => {
    const scene = await makeScene({ events: ['permission.requested', 'permission.decided'] });
    const { world, account, agent, resend } = scene;
    const ada = await person(account, 'approver', 'ada');
    await person(account, 'approver', 'ben');
    await giveSeries({ world, account, agent, ada });
    await world.deliver();
    const before = resend.mails.length;
    expect(before).toBeGreaterThan(0);
    expect(await statusOf(agent)).toBe('approved');
    await world.deliver();
    expect(resend.mails).toHaveLength(before);
  });

  it('is not mailed any more once it ended, or the recipient has voted or left', async () => {
    const scene = await makeScene();
    const { world, account, agent, resend } = scene;
    const ada = await person(account, 'approver', 'ada');
    const ben = await person(account, 'approver', 'ben');
    const cleo = await person(account, 'approver', 'cleo');
    await makeReviewPolicy(account, { approvals: 2 });
    world.advance(1);
    resend.failures.push(500, 500, 500);
    const { id } = await agent.request();
    await world.deliver();
    await world.must(200, 'POST', `/v1/permissions/${id}/approve`, { token: ada.token, body: {} });
    await account.must(204, 'DELETE', `/v1/members/${cleo.id}`);
    world.advance(10_000);
    await world.sweep();
    await world.deliver();
    expect(resend.mails.map(({ to }) => to)).toEqual([address('ben')]);
    const told = await notifications(account, id);
    const of = (member: TestMember) => told.find(({ member_id }) => member_id === member.id);
    expect(of(ada)).toMatchObject({
      status: 'failed',
      last_error: 'The recipient voted before the message was sent.',
    });
    expect(of(ben)).toMatchObject({ status: 'succeeded', attempts: 2 });
    expect(of(cleo)).toMatchObject({
      status: 'failed',
      last_error: 'The recipient is no longer an active member.',
    });
  });
});

describe('the end of a request', () => {
  it('is mailed to its reviewers and the owner of its agent, and not to who decided', async () => {
    const scene = await makeScene({ events: ['permission.decided'] });
    const { world, account, resend } = scene;
    const developer = await person(account, 'developer', 'dev');
    const ada = await person(account, 'approver', 'ada');
    await person(account, 'approver', 'ben');
    const agent = await account.agent({ owner_id: developer.id });
    const { id } = await agent.request();
    const body = { reason: 'Too much' };
    await world.must(200, 'POST', `/v1/permissions/${id}/deny`, { token: ada.token, body });
    await world.deliver();
    expect(resend.mails.map(({ to }) => to).sort()).toEqual([address('ben'), address('dev')]);
    expect(resend.to(address('dev'))[0]?.text).toContain('Too much');
  });

  it('is mailed if it expired, and not if the agent took it back', async () => {
    const scene = await makeScene({ events: ['permission.expired'] });
    const { world, account, agent, resend } = scene;
    await person(account, 'approver', 'ada');
    const { id } = await agent.request();
    await agent.must(200, 'POST', `/v1/permissions/${id}/withdraw`, {});
    await world.deliver();
    expect(resend.mails).toHaveLength(0);
    await agent.request({ expires_in: 60 });
    world.advance(MINUTE);
    await world.sweep();
    await world.deliver();
    expect(subjects(scene, 'ada')).toEqual([expect.stringMatching(/^Expired/)]);
  });
});

describe('reminders', () => {
  it.runIf(depth.isDeep)(
    'are sent at half and nine tenths of the life of a request to those who have not voted',
    async () => {
      const scene = await makeScene({ events: ['permission.requested'] });
      const { world, account, agent } = scene;
      const ada = await person(account, 'approver', 'ada');
      await person(account, 'approver', 'ben');
      await makeReviewPolicy(account, { approvals: 2 });
      world.advance(1);
      const { id } = await agent.request({ expires_in: 10 * 3_600 });
      await world.deliver();
      const start = world.now;
      await world.must(200, 'POST', `/v1/permissions/${id}/approve`, {
        token: ada.token,
        body: {},
      });
      for (let minute = 1; minute < 600; minute++) {
        world.now = start + minute * MINUTE;
        if (minute % 30 > 1) continue;
        const before = subjects(scene, 'ben').length;
        await world.sweep();
        await world.deliver();
        const isDue = minute === 300 || minute === 540;
        expect([minute, subjects(scene, 'ben').length - before]).toEqual([minute, isDue ? 1 : 0]);
      }
      expect(subjects(scene, 'ada')).toHaveLength(1);
      expect(subjects(scene, 'ben').slice(1)).toEqual([
        expect.stringMatching(/^Reminder/),
        expect.stringMatching(/^Reminder/),
      ]);
      expect((await notifications(account, id)).map(({ reminder }) => reminder)).toEqual([
        2,
        1,
        null,
        null,
      ]);
    },
  );

  it('end with the request', async () => {
    const scene = await makeScene({ events: ['permission.requested'] });
    const { world, account, agent } = scene;
    await person(account, 'approver', 'ada');
    const { id } = await agent.request({ expires_in: 7_200 });
    await world.deliver();
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`, {});
    for (const time of [HOUR, HOUR]) {
      world.advance(time);
      await world.sweep();
      await world.deliver();
    }
    expect(subjects(scene, 'ada')).toHaveLength(1);
    const { results } = await env.DB.prepare(
      'select remind_at from permission_events where remind_at is not null',
    ).all();
    expect(results).toEqual([]);
  });

  it('reach those whom an escalation added, also if nobody was notified of the request', async () => {
    const scene = await makeScene();
    const { world, account, agent } = scene;
    const owner = await person(account, 'approver', 'ada');
    await person(account, 'admin', 'admin');
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: owner.id });
    await makeReviewPolicy(account, {
      members: [owner.id],
      escalation: { after: 600, roles: ['admin'] },
    });
    world.advance(1);
    await agent.request({ expires_in: 3_600 });
    await world.deliver();
    expect(scene.resend.mails).toEqual([]);
    for (const minutes of [11, 19, 24]) {
      world.advance(minutes * MINUTE);
      await world.sweep();
      await world.deliver();
    }
    expect(subjects(scene, 'admin')).toHaveLength(3);
    expect(subjects(scene, 'ada')).toEqual([]);
  });
});

describe('more than five messages a minute to one person', () => {
  it('become one digest', async () => {
    const scene = await makeScene();
    const { world, account, agent, resend } = scene;
    await person(account, 'approver', 'ada');
    world.now = Math.ceil(world.now / MINUTE) * MINUTE + 1_000;
    for (let i = 0; i < 12; i++) {
      await agent.request({ action: `act.${i}` });
      await world.deliver();
    }
    expect(resend.mails).toHaveLength(5);
    world.advance(59_000);
    await world.sweep();
    await world.deliver();
    expect(resend.mails).toHaveLength(6);
    const digest = resend.mails[5];
    expect(digest?.subject).toBe('7 requests wait for a decision');
    for (let i = 5; i < 12; i++)
      expect(digest?.text.replaceAll('\u2060', '')).toContain(`act.${i}`);
    const { results } = await env.DB.prepare('select * from held_messages').all();
    expect(results).toEqual([]);
    const { data } = (await account.must(200, 'GET', `/v1/channels/${scene.channel.id}/deliveries`))
      .body;
    expect(data).toHaveLength(12);
    expect(data.every(({ status }: Json) => status === 'succeeded')).toBe(true);
  });

  it('are counted over all channels, and two that waited are a digest', async () => {
    const scene = await makeScene({ filter: { actions: ['a.*'] } });
    const { world, account, agent, resend } = scene;
    const other = { kind: 'email', name: 'Other', filter: { actions: ['b.*'] } };
    await account.must(201, 'POST', '/v1/channels', other);
    await person(account, 'approver', 'ada');
    world.now = Math.ceil(world.now / MINUTE) * MINUTE + 1_000;
    for (const action of ['a.1', 'b.1', 'a.2', 'b.2', 'a.3', 'b.3', 'b.4', 'a.4']) {
      await agent.request({ action });
      await world.deliver();
    }
    expect(resend.mails).toHaveLength(5);
    world.advance(59_000);
    await world.sweep();
    await world.deliver();
    // Each channel sends its own.
    expect(subjects(scene, 'ada').slice(5).sort()).toEqual([
      '2 requests wait for a decision',
      expect.stringContaining('“a.4”'),
    ]);
  });

  it.runIf(depth.isDeep)(
    'are sent once as one digest if the answer of the mail service is lost',
    async () => {
      const scene = await makeScene();
      const { world, account, agent, resend } = scene;
      await person(account, 'approver', 'ada');
      await person(account, 'approver', 'ben');
      world.now = Math.ceil(world.now / MINUTE) * MINUTE + 1_000;
      for (let i = 0; i < 14; i++) {
        await agent.request();
        await world.deliver();
      }
      expect(resend.mails).toHaveLength(10);
      resend.failures.push(null, null);
      world.advance(59_000);
      // The second sweep sends what was retried.
      for (let i = 0; i < 2; i++) {
        await world.sweep();
        await world.deliver();
        world.advance(10_000);
      }
      for (const name of ['ada', 'ben']) {
        expect(subjects(scene, name).slice(5)).toEqual(['9 requests wait for a decision']);
      }
      const { data } = (
        await account.must(200, 'GET', `/v1/channels/${scene.channel.id}/deliveries?limit=100`)
      ).body;
      expect(
        data.map(({ attempts }: Json) => attempts).filter((attempts: number) => attempts === 2),
      ).toHaveLength(18);
    },
  );
});

describe('what a member chose', () => {
  async function choose(scene: Scene, member: TestMember, body: Json): Promise<void> {
    await scene.world.must(200, 'PUT', '/v1/me/notifications', { token: member.token, body });
  }

  it('limits the channels and events', async () => {
    const scene = await makeScene();
    const { world, account, agent } = scene;
    const { body: other } = await account.must(201, 'POST', '/v1/channels', {
      kind: 'email',
      name: 'Other',
    });
    const ada = await person(account, 'approver', 'ada');
    await choose(scene, ada, { channels: [other.id], events: ['permission.requested'] });
    const { id } = await agent.request();
    await world.deliver();
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`, {});
    await world.deliver();
    expect(subjects(scene, 'ada')).toHaveLength(1);
    expect((await notifications(account, id)).map(({ channel_id }) => channel_id)).toEqual([
      other.id,
    ]);
  });

  it('lets messages wait for the end of the quiet hours', async () => {
    const scene = await makeScene({ events: ['permission.requested'] });
    const { world, account, agent } = scene;
    const ada = await person(account, 'approver', 'ada');
    await choose(scene, ada, { quiet_hours: { start: '11:00', end: '14:00', time_zone: 'UTC' } });
    await agent.request({ expires_in: 6 * 3_600 });
    const { id: ended } = await agent.request({ expires_in: 6 * 3_600 });
    await world.deliver();
    await account.must(200, 'POST', `/v1/permissions/${ended}/deny`, {});
    world.now = Date.UTC(2026, 0, 31, 13, 59);
    await world.sweep();
    await world.deliver();
    expect(subjects(scene, 'ada')).toEqual([]);
    world.now = Date.UTC(2026, 0, 31, 14, 0);
    await world.sweep();
    await world.deliver();
    expect(subjects(scene, 'ada')).toHaveLength(1);
  });

  it('lets messages that waited a minute also wait for the quiet hours that began meanwhile', async () => {
    const scene = await makeScene({ events: ['permission.requested'] });
    const { world, account, agent } = scene;
    const ada = await person(account, 'approver', 'ada');
    await choose(scene, ada, { quiet_hours: { start: '13:00', end: '14:00', time_zone: 'UTC' } });
    world.now = Date.UTC(2026, 0, 31, 12, 59, 30);
    for (let i = 0; i < 6; i++) await agent.request({ expires_in: 6 * 3_600 });
    await world.deliver();
    expect(subjects(scene, 'ada')).toHaveLength(5);
    for (const [minute, count] of [
      [13 * 60, 5],
      [14 * 60, 6],
    ] as const) {
      world.now = Date.UTC(2026, 0, 31, 0, minute);
      await world.sweep();
      await world.deliver();
      expect(subjects(scene, 'ada')).toHaveLength(count);
    }
  });

  it('notifies a delegate of no decision of their own', async () => {
    const scene = await makeScene({ events: ['permission.decided'] });
    const { world, account, agent } = scene;
    const [ada, ben] = [
      await person(account, 'approver', 'ada'),
      await person(account, 'approver', 'ben'),
    ];
    await choose(scene, ada, { delegate: { member_id: ben.id, from: null, until: null } });
    const { id } = await agent.request();
    await world.must(200, 'POST', `/v1/permissions/${id}/deny`, { token: ben.token, body: {} });
    await world.deliver();
    expect([subjects(scene, 'ada'), subjects(scene, 'ben')]).toEqual([[], []]);
    const { id: other } = await agent.request();
    await world.must(200, 'POST', `/v1/permissions/${other}/deny`, { token: ada.token, body: {} });
    await world.deliver();
    expect([subjects(scene, 'ada').length, subjects(scene, 'ben').length]).toEqual([0, 1]);
  });

  it('does not send what waited when the channel was switched off', async () => {
    const scene = await makeScene({ events: ['permission.requested'] });
    const { world, account, agent, channel } = scene;
    const ada = await person(account, 'approver', 'ada');
    await choose(scene, ada, { quiet_hours: { start: '11:00', end: '14:00', time_zone: 'UTC' } });
    await agent.request({ expires_in: 6 * 3_600 });
    await world.deliver();
    for (const is_active of [false, true]) {
      await account.must(200, 'PUT', `/v1/channels/${channel.id}`, { is_active });
    }
    world.now = Date.UTC(2026, 0, 31, 14, 0);
    await world.sweep();
    await world.deliver();
    expect(subjects(scene, 'ada')).toEqual([]);
  });

  it('sends messages to a delegate while the member is away', async () => {
    const scene = await makeScene({ events: ['permission.requested'] });
    const { world, account, agent } = scene;
    const ada = await person(account, 'approver', 'ada');
    const dev = await person(account, 'developer', 'dev');
    const until = new Date(world.now + DAY).toISOString();
    await choose(scene, ada, { delegate: { member_id: dev.id, from: null, until } });
    await agent.request({ expires_in: 7 * 24 * 3_600 });
    await world.deliver();
    expect([subjects(scene, 'ada').length, subjects(scene, 'dev').length]).toEqual([0, 1]);
    world.advance(DAY + 1);
    await agent.request();
    await world.deliver();
    expect([subjects(scene, 'ada').length, subjects(scene, 'dev').length]).toEqual([1, 1]);
    await choose(scene, ada, { delegate: { member_id: dev.id, from: null, until: null } });
    await account.must(204, 'DELETE', `/v1/members/${dev.id}`);
    await agent.request();
    await world.deliver();
    expect([subjects(scene, 'ada').length, subjects(scene, 'dev').length]).toEqual([2, 1]);
  });
});

describe('a webhook that the service disabled', () => {
  it('is mailed to owners and admins', async () => {
    const scene = await makeScene({ events: ['webhook.disabled'] });
    const { world, account, agent, resend } = scene;
    for (const role of ['owner', 'admin', 'developer', 'approver'])
      await person(account, role, role);
    const webhook = await makeWebhook(account, { events: ['audit.created'] });
    world.internet.on(webhook.host, () => new Response(null, { status: 410 }));
    await agent.request();
    await world.deliver();
    await world.sweep();
    await world.deliver();
    expect(resend.mails.map(({ to }) => to).sort()).toEqual([address('admin'), address('owner')]);
    expect(resend.mails[0]?.text).toContain('410');
    await world.sweep();
    await world.deliver();
    expect(resend.mails).toHaveLength(2);
  });
});

describe('a test of a channel', () => {
  it('goes to the member who asks, and to no address that is not proven', async () => {
    const scene = await makeScene();
    const { world, account, channel } = scene;
    const admin = await person(account, 'admin', 'admin');
    const path = `/v1/channels/${channel.id}/test`;
    const { body } = await world.must(202, 'POST', path, { token: admin.token, body: {} });
    expect(body).toMatchObject({
      channel_id: channel.id,
      event: 'webhook.test',
      member_id: admin.id,
      status: 'pending',
    });
    const unproven = await makeMember(account, 'admin', address('unproven'));
    const { body: second } = await world.must(202, 'POST', path, {
      token: unproven.token,
      body: {},
    });
    const { body: third } = await account.must(202, 'POST', path, {});
    await world.deliver();
    expect(scene.resend.mails).toMatchObject([
      { to: address('admin'), subject: 'Test of a channel' },
    ]);
    for (const [delivery, error] of [
      [second, /has not confirmed/],
      [third, /members only/],
    ]) {
      const { body: failed } = await account.must(
        200,
        'GET',
        `/v1/channels/${channel.id}/deliveries/${delivery.id}`,
      );
      expect(failed).toMatchObject({
        status: 'failed',
        attempts: 0,
        last_error: expect.stringMatching(error),
      });
    }
    await account.must(200, 'PUT', `/v1/channels/${channel.id}`, { is_active: false });
    expect((await account.must(409, 'POST', path, {})).body.code).toBe('conflict');
  });
});

describe('sending', () => {
  it('fails with a plain reason where the service has no mail set up, and is tried again', async () => {
    const world = new World();
    const account = await world.account();
    const { body: channel } = await account.must(201, 'POST', '/v1/channels', {
      kind: 'email',
      name: 'Mail',
    });
    const { token } = await makeReachableMember(account, 'admin');
    await world.must(202, 'POST', `/v1/channels/${channel.id}/test`, { token, body: {} });
    await world.deliver();
    const [delivery] = (await account.must(200, 'GET', `/v1/channels/${channel.id}/deliveries`))
      .body.data;
    expect(delivery).toMatchObject({ status: 'pending', attempts: 1 });
    expect(delivery.last_error).toMatch(/^This service has no mail set up/);
  });

  it.runIf(depth.isDeep)(
    'sends no mail twice when the answer of the mail service is lost',
    async () => {
      const scene = await makeScene();
      const { world, account, agent, resend } = scene;
      await person(account, 'approver', 'ada');
      resend.failures.push(null);
      const { id } = await agent.request();
      await world.deliver();
      expect((await notifications(account, id))[0]).toMatchObject({
        status: 'pending',
        last_error: 'The connection failed.',
      });
      world.advance(10_000);
      await world.sweep();
      await world.deliver();
      expect(subjects(scene, 'ada')).toHaveLength(1);
      expect((await notifications(account, id))[0]).toMatchObject({
        status: 'succeeded',
        attempts: 2,
      });
    },
  );

  it('sends a message again as a new mail', async () => {
    const scene = await makeScene();
    const { world, account, agent, channel } = scene;
    await person(account, 'approver', 'ada');
    await agent.request();
    await world.deliver();
    const path = `/v1/channels/${channel.id}/deliveries`;
    const [first] = (await account.must(200, 'GET', path)).body.data;
    const { body: again } = await account.must(202, 'POST', `${path}/${first.id}/redeliver`, {});
    expect(again).toMatchObject({
      permission_id: first.permission_id,
      member_id: first.member_id,
      status: 'pending',
    });
    await world.deliver();
    expect(subjects(scene, 'ada')).toHaveLength(2);
    const { body: detail } = await account.must(200, 'GET', `${path}/${first.id}`);
    expect(detail.payload.data.id).toBe(first.permission_id);
    expect(detail.payload.data.input).toBeUndefined();
    expect(detail.attempt_history).toHaveLength(1);
  });
});

describe('the inbox', () => {
  it('marks a request of which nobody could be notified', async () => {
    const scene = await makeScene();
    const { world, account, agent, resend } = scene;
    const ada = await person(account, 'approver', 'ada');
    await person(account, 'approver', 'ben');
    await makeReviewPolicy(account, { approvals: 2 });
    world.advance(1);
    resend.failures.push(...Array(2).fill(410));
    const { id } = await agent.request({ expires_in: 7 * 24 * 3_600 });
    const marked = async () =>
      (await ada.browser.get('/console')).text.includes('Nobody has been notified of it');
    expect(await marked()).toBe(false);
    await world.deliver();
    await world.sweep();
    await world.deliver();
    expect((await notifications(account, id)).map(({ status }) => status)).toEqual([
      'failed',
      'failed',
    ]);
    expect(await marked()).toBe(true);
    await world.must(200, 'POST', `/v1/permissions/${id}/approve`, { token: ada.token, body: {} });
    expect(await marked()).toBe(false);
  });
});

describe('an outcome that is not reported', () => {
  it('is mailed to the owner of the agent, and unless a policy decided to those who may decide', async () => {
    const scene = await makeScene({ events: ['permission.outcome_missing'] });
    const { world, account } = scene;
    const owner = await person(account, 'developer', 'owner');
    await person(account, 'approver', 'ada');
    await person(account, 'auditor', 'auditor');
    const agent = await account.agent({ owner_id: owner.id });
    const policy = { name: 'P', effect: 'approve', actions: ['auto.do'], resources: ['*'] };
    await account.must(201, 'POST', '/v1/policies', policy);
    const byPolicy = await agent.request({ action: 'auto.do', reports_outcome: true });
    await agent.must(200, 'POST', '/v1/tokens/use', { token: byPolicy.token.value });
    await usePromised(agent);
    const told = await usePromised(agent);
    await report(agent, told.id);
    world.advance(REPORT_PERIOD);
    await world.sweep();
    await world.deliver();
    const about = (action: string) =>
      expect.stringMatching(new RegExp(`^Outcome unknown: .${action.replace('.', '.+')}`));
    expect(subjects(scene, 'owner').toSorted()).toEqual([about('auto.do'), about('email.send')]);
    expect(subjects(scene, 'ada')).toEqual([about('email.send')]);
    expect(subjects(scene, 'auditor')).toEqual([]);
  });
});
