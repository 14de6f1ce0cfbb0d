import { describe, expect, it } from 'vitest';
import {
  linkInSlack,
  makeSlackScene,
  openModal,
  requestInSlack,
  submitModal,
  textsOf,
} from '../channels/slack/scene';
import { makeMember, makeReachableMember } from '../support/members';
import { MAIL_SETTINGS, Resend } from '../support/resend';
import { makeWebhook } from '../support/webhooks';
import { type Json, type TestAccount, World } from '../support/world';

const stop = (account: TestAccount, body: Json = {}) =>
  account.must(200, 'POST', '/v1/me/stop', body);
const resume = (account: TestAccount) => account.must(200, 'POST', '/v1/me/resume');

/** Another account with a webhook and a channel of its own. */
async function makeNeighbour(world: World): Promise<TestAccount> {
  const account = await world.account();
  await (await account.agent()).approved();
  await account.must(201, 'POST', '/v1/channels', { kind: 'email', name: 'Mail' });
  return account;
}

describe('a webhook', () => {
  it('gets the stop and the resume, if it names them', async () => {
    const world = new World();
    const neighbour = await makeNeighbour(world);
    const account = await world.account();
    const named = await makeWebhook(account, {
      url: 'https://named.example.com/',
      events: ['account.stopped', 'account.resumed'],
    });
    await makeWebhook(account, { url: 'https://all.example.com/' });
    await makeWebhook(neighbour, {
      url: 'https://neighbour.example.com/',
      events: ['account.stopped'],
    });
    const received: Json[] = [];
    for (const host of ['named', 'all', 'neighbour'])
      world.internet.on(`${host}.example.com`, ({ body }) => {
        received.push([host, JSON.parse(body)]);
        return new Response();
      });
    await stop(account, { reason: 'The bot' });
    await stop(account, { reason: 'Not written' });
    const at = new Date(world.now).toISOString();
    await world.deliver();
    world.advance(1_000);
    await resume(account);
    await resume(account);
    const later = new Date(world.now).toISOString();
    await world.deliver();
    expect(received).toEqual([
      [
        'named',
        {
          event: 'account.stopped',
          timestamp: at,
          data: { user_id: account.id, stopped: { at, by: account.id, reason: 'The bot' } },
        },
      ],
      [
        'named',
        {
          event: 'account.resumed',
          timestamp: later,
          data: { user_id: account.id, stopped: null },
        },
      ],
    ]);
    const path = `/v1/webhooks/${named.id}/deliveries`;
    const { data } = (await account.must(200, 'GET', path)).body;
    const detail = (await account.must(200, 'GET', `${path}/${data[0].id}`)).body;
    expect(detail.payload.event).toBe('account.resumed');
    const token = await account.limitedToken('webhooks:read');
    const hidden = await world.must(200, 'GET', `${path}/${data[0].id}`, { token });
    expect(hidden.body.payload).toBeNull();
  });

  it('gets it from the sweep when the queue lost the message, and when the operator resumes', async () => {
    const world = new World();
    await makeNeighbour(world);
    const account = await world.account();
    await makeWebhook(account, {
      url: 'https://swept.example.com/',
      events: ['account.stopped', 'account.resumed'],
    });
    const received: string[] = [];
    world.internet.on('swept.example.com', ({ body }) => {
      received.push(JSON.parse(body).event);
      return new Response();
    });
    await stop(account);
    await world.must(200, 'PATCH', `/v1/admin/users/${account.id}`, {
      token: world.env.ADMIN_TOKEN ?? '',
      body: { stopped: null },
    });
    await stop(account);
    world.deliveryQueue.take();
    expect(received).toEqual([]);
    world.advance(60_000);
    await world.sweep();
    await world.deliver();
    expect(received).toEqual(['account.stopped', 'account.resumed', 'account.stopped']);
    world.advance(60_000);
    await world.sweep();
    await world.deliver();
    expect(received).toHaveLength(3);
  });
});

describe('a mail', () => {
  it('goes at once to everybody who may decide, whatever they chose', async () => {
    const world = new World(MAIL_SETTINGS);
    const resend = new Resend(world, 'stop.example.com');
    await makeNeighbour(world);
    const account = await world.account();
    const agent = await account.agent();
    await account.must(201, 'POST', '/v1/channels', {
      kind: 'email',
      name: 'Mail',
      filter: { actions: ['payment.*'] },
    });
    const address = (name: string) => `${name}@stop.example.com`;
    const people: Json = {};
    for (const role of ['owner', 'admin', 'approver', 'developer', 'auditor'])
      people[role] = await makeReachableMember(account, role, address(role));
    const suspended = await makeReachableMember(account, 'approver', address('suspended'));
    await account.must(200, 'PUT', `/v1/members/${suspended.id}`, { status: 'suspended' });
    await makeMember(account, 'approver', address('unproven'));
    const choose = (role: string, body: Json) =>
      world.must(200, 'PUT', '/v1/me/notifications', { token: people[role].token, body });
    // 12:00 UTC is in the quiet hours.
    await choose('approver', {
      quiet_hours: { start: '11:00', end: '13:00', time_zone: 'UTC' },
    });
    await choose('admin', {
      events: [],
      channels: [],
      delegate: { member_id: people.auditor.id, from: null, until: null },
    });
    // The owner has got as many mails as anybody gets within a minute.
    for (let i = 0; i < 7; i++) await agent.request({ action: 'payment.send' });
    await world.deliver();
    const before = resend.mails.length;
    const call = { token: people.approver.token, body: { reason: 'The bot mails everybody' } };
    await world.must(200, 'POST', '/v1/me/stop', call);
    await world.deliver();
    const mails = resend.mails.slice(before);
    expect(mails.map(({ to }) => to).sort()).toEqual(
      ['admin', 'approver', 'owner'].map(address).sort(),
    );
    for (const { subject, text } of mails) {
      expect(subject).toBe('All agents are stopped');
      const words = text.replaceAll('\u2060', '');
      expect(words).toContain('The bot mails everybody');
      expect(words).toContain(address('approver'));
      expect(words).toContain('https://countersign.test/console');
    }
    await resume(account);
    await world.deliver();
    const resumed = resend.mails.slice(before + 3);
    expect(resumed.map(({ subject }) => subject)).toEqual(Array(3).fill('The agents may go on'));
    expect(resumed[0]?.text.replaceAll('\u2060', '')).toContain('a token of the account');
  });
});

describe('Slack', () => {
  it('gets the stop in every channel, at once, and lets nobody approve meanwhile', async () => {
    const world = new World();
    await makeNeighbour(world);
    const scene = await makeSlackScene({}, world);
    const { slack, account } = scene;
    const ada = await makeMember(account, 'approver', 'ada@example.com');
    await linkInSlack(scene, ada);
    const { permission, message } = await requestInSlack(scene);
    const view = await openModal(scene, message);
    const posted = slack.messages.length;
    await stop(account, { reason: 'The bot' });
    await world.deliver();
    expect(slack.messages.length).toBeGreaterThan(posted);
    const text = textsOf(slack.messages.at(-1));
    expect(text).toContain('All agents are stopped.');
    expect(text).toContain('Reason: The bot');
    expect(text).toContain('by: a token of the account');
    const refused = await submitModal(scene, view, { decision: 'approve' });
    expect(JSON.stringify(refused)).toContain('stopped');
    expect(await account.log('&event_type=approve')).toEqual([]);
    expect(await submitModal(scene, view, { decision: 'deny' })).toBeNull();
    const { body } = await account.must(200, 'GET', `/v1/permissions/${permission.id}`);
    expect(body.status).toBe('denied');
    await resume(account);
    await world.deliver();
    expect(textsOf(slack.messages.at(-1))).toContain('The agents may go on.');
  });

  it('posts it when the Slack channel has got its 20 messages of the minute', async () => {
    const world = new World();
    await makeNeighbour(world);
    const { slack, account, agent } = await makeSlackScene({}, world);
    for (let i = 0; i < 25; i++) await agent.request();
    await world.deliver();
    const posted = slack.messages.length;
    await stop(account);
    await world.deliver();
    expect(slack.messages.length).toBe(posted + slack.config.channels.length);
    expect(textsOf(slack.messages.at(-1))).toContain('All agents are stopped.');
  });
});
