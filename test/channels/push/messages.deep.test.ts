import { describe, expect, it } from 'vitest';
import { hang } from '../../support/internet';
import { makeMember, type TestMember } from '../../support/members';
import { TestDevice } from '../../support/push';
import { makeWebhook } from '../../support/webhooks';
import { type Json, type TestAccount, World } from '../../support/world';

const MINUTE = 60_000;
const DAY = 86_400_000;
const PAYOUT = {
  action: 'payout.send',
  resource: 'supplier:2',
  scope: { currency: 'EUR', attempts: 3, amount: 2_000 },
};

/** An account with an agent, beside one with another history. */
async function makeScene() {
  const world = new World();
  const neighbour = await world.account();
  const other = await makeMember(neighbour, 'approver');
  const otherDevice = new TestDevice(world);
  await subscribe(otherDevice, other);
  await (await neighbour.agent()).approved();
  await world.deliver();
  const before = otherDevice.notifications.length;
  const account = await world.account();
  const agent = await account.agent({ name: 'Accounts payable' });
  /** How many notifications the neighbour got since. */
  const neighbours = () => otherDevice.notifications.length - before;
  return { world, account, agent, neighbours };
}

/** A member with a device. */
async function makePerson(account: TestAccount, role = 'approver') {
  const member = await makeMember(account, role);
  const device = new TestDevice(account.world);
  await subscribe(device, member);
  return { ...member, device };
}

async function subscribe(device: TestDevice, member: TestMember): Promise<void> {
  const answer = await device.subscribe(member);
  if (answer.status !== 201) throw new Error(`the subscription was refused: ${answer.text}`);
}

function choose({ world }: TestAccount, { token }: TestMember, body: Json) {
  return world.must(200, 'PUT', '/v1/me/notifications', { token, body });
}

async function later(world: World, milliseconds: number): Promise<void> {
  world.advance(milliseconds);
  await world.sweep();
  await world.deliver();
}

const titles = ({ notifications }: TestDevice) => notifications.map(({ title }) => title);

/** The devices of a member. */
async function devicesOf({ world }: TestAccount, { token }: TestMember): Promise<Json[]> {
  return (await world.must(200, 'GET', '/v1/me/notifications', { token })).body.push;
}

describe('a device', () => {
  it('is told who asks for what, and how much, and nothing of the arguments or the preview', async () => {
    const { world, account, agent, neighbours } = await makeScene();
    const ada = await makePerson(account);
    const reader = await makePerson(account, 'auditor');
    const { id } = await agent.request({
      ...PAYOUT,
      input: { iban: 'secret-iban' },
      preview: { title: 'secret-title', summary: 'secret-summary' },
      reason: 'secret-reason',
      expires_in: 900,
    });
    await world.deliver();
    const { topic, key, ...shown } = ada.device.notifications[0] ?? {};
    expect(shown).toEqual({
      title: 'Decision needed: payout.send',
      body: '2,000 EUR (amount) and 1 more · supplier:2\nAsked by Accounts payable',
      path: `/console/permissions/${id}`,
      tag: id,
      renotify: true,
      deadline: '2026-01-31T12:15:00.000Z',
      ttl: 900,
      urgency: 'high',
    });
    expect(topic).toMatch(/^[\w-]{22}$/);
    expect(ada.device.notifications).toHaveLength(1);
    expect([reader.device.notifications, neighbours()]).toEqual([[], 0]);

    const [told] = (await account.must(200, 'GET', `/v1/permissions/${id}/notifications`)).body
      .data;
    expect(told).toMatchObject({ kind: 'push', channel_name: 'Phone', status: 'succeeded' });
    expect(told).toMatchObject({ member_id: ada.id, channel_id: expect.stringMatching(/^push_/) });

    await account.must(200, 'POST', `/v1/permissions/${id}/approve`, {
      scope: { ...PAYOUT.scope, amount: 500 },
    });
    await world.deliver();
    expect(ada.device.notifications[1]).toMatchObject({
      title: 'Approved: payout.send',
      body: '500 EUR (amount) and 1 more · supplier:2\nAsked by Accounts payable, decided by a token of the account',
      ...{ tag: id, topic, renotify: false, deadline: null, urgency: 'normal', ttl: 86_400 },
    });
  });

  it('shows unseen characters, and the first number of a scope without an amount', async () => {
    const { world, account } = await makeScene();
    const agent = await account.agent({ name: 'Mail\u202Eer' });
    const ada = await makePerson(account);
    await agent.request({ scope: { max: { recipients: 12 }, currency: 'EUR' } });
    await agent.request({ scope: { to: 'everybody' } });
    await world.deliver();
    expect(ada.device.notifications.map(({ body }) => body).sort()).toEqual([
      '12 (max.recipients) · mailbox:support\nAsked by MailU+202Eer',
      'mailbox:support\nAsked by MailU+202Eer',
    ]);
  });

  it('is told of no decision of its own member, but of those of others', async () => {
    const { world, account, agent } = await makeScene();
    const ada = await makePerson(account);
    const ben = await makePerson(account);
    const { id } = await agent.request();
    await world.deliver();
    await world.must(200, 'POST', `/v1/permissions/${id}/deny`, { token: ada.token, body: {} });
    await world.deliver();
    expect(titles(ada.device)).toEqual(['Decision needed: email.send']);
    expect(titles(ben.device)).toEqual(['Decision needed: email.send', 'Denied: email.send']);
    expect(ben.device.notifications[1]?.body).toContain(`decided by ${ada.email}`);
  });

  it('is reminded at half and nine tenths of the life of a request, until its member votes', async () => {
    const { world, account, agent } = await makeScene();
    const ada = await makePerson(account);
    await agent.request({ expires_in: 6_000 });
    const { id: voted } = await agent.request({ expires_in: 6_000 });
    await world.deliver();
    await world.must(200, 'POST', `/v1/permissions/${voted}/deny`, { token: ada.token, body: {} });
    await later(world, 3_000_000);
    await later(world, 2_400_000);
    expect(titles(ada.device)).toEqual([
      ...['Decision needed: email.send', 'Decision needed: email.send'],
      ...['Reminder: decision needed: email.send', 'Reminder: decision needed: email.send'],
    ]);
  });

  it('is told of a disabled webhook and of a stop, if its member may know', async () => {
    const { world, account, agent, neighbours } = await makeScene();
    const admin = await makePerson(account, 'admin');
    const developer = await makePerson(account, 'developer');
    const webhook = await makeWebhook(account, { events: ['audit.created'] });
    world.internet.on(webhook.host, () => new Response(null, { status: 410 }));
    await agent.approved();
    await world.deliver();
    await later(world, MINUTE);
    await account.must(200, 'POST', '/v1/me/stop', { reason: 'A drill' });
    await world.deliver();
    expect(titles(admin.device).slice(-2)).toEqual([
      `Webhook disabled: ${webhook.host}`,
      'All agents are stopped',
    ]);
    expect(admin.device.notifications.at(-2)?.path).toBe(`/console/webhooks/${webhook.id}`);
    expect([titles(developer.device), neighbours()]).toEqual([[], 0]);
  });
});

describe('what a member chose', () => {
  it('about events counts for devices, but not which channels may write', async () => {
    const { world, account, agent } = await makeScene();
    const ada = await makePerson(account);
    await choose(account, ada, { events: ['permission.decided'], channels: [] });
    const { id } = await agent.request();
    await world.deliver();
    expect(titles(ada.device)).toEqual([]);
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`, {});
    await world.deliver();
    expect(titles(ada.device)).toEqual(['Denied: email.send']);
  });

  it('as quiet hours lets messages wait, and those that still matter become one', async () => {
    const { world, account, agent, neighbours } = await makeScene();
    const ada = await makePerson(account);
    await choose(account, ada, {
      quiet_hours: { start: '11:00', end: '14:00', time_zone: 'UTC' },
      events: ['permission.requested'],
    });
    for (let i = 0; i < 2; i++) await agent.request({ expires_in: 6 * 3_600 });
    const { id: ended } = await agent.request({ expires_in: 6 * 3_600 });
    await world.deliver();
    await account.must(200, 'POST', `/v1/permissions/${ended}/deny`, {});
    await later(world, 119 * MINUTE);
    expect(titles(ada.device)).toEqual([]);
    await later(world, MINUTE);
    expect(ada.device.notifications).toMatchObject([
      { title: '2 requests wait for a decision', path: '/console', tag: 'digest', topic: null },
    ]);
    // The device is woken as for one request, and as long as the last one can be decided.
    expect(ada.device.notifications).toMatchObject([
      { renotify: true, urgency: 'high', ttl: 4 * 3_600 },
    ]);
    expect(neighbours()).toBe(0);
  });

  it('as a delegate sends to the devices of that member instead', async () => {
    const { world, account, agent } = await makeScene();
    const ada = await makePerson(account);
    const dev = await makePerson(account, 'developer');
    const delegate = { member_id: dev.id, from: null, until: null };
    await choose(account, ada, { delegate });
    await agent.request();
    await world.deliver();
    expect([titles(ada.device).length, titles(dev.device).length]).toEqual([0, 1]);
  });
});

it('more than five messages a minute to a device become one', async () => {
  const { world, account, agent } = await makeScene();
  const ada = await makePerson(account);
  const second = new TestDevice(world);
  await subscribe(second, ada);
  for (let i = 0; i < 8; i++) {
    await agent.request();
    await world.deliver();
  }
  expect([titles(ada.device).length, titles(second).length]).toEqual([5, 5]);
  await later(world, MINUTE);
  for (const device of [ada.device, second])
    expect(titles(device).slice(5)).toEqual(['3 requests wait for a decision']);
});

describe('a push service', () => {
  it.each([404, 410])('that answers %s ends the subscription', async (status) => {
    const { world, account, agent } = await makeScene();
    const ada = await makePerson(account);
    expect(await devicesOf(account, ada)).toHaveLength(1);
    ada.device.failures.push(status);
    await agent.request();
    await world.deliver();
    expect(await devicesOf(account, ada)).toEqual([]);
    await agent.request();
    await later(world, DAY);
    expect(titles(ada.device)).toEqual([]);
  });

  it('that fails is tried again, and delays no other device', async () => {
    const { world, account, agent } = await makeScene();
    const ada = await makePerson(account);
    const ben = await makePerson(account);
    ada.device.failures.push(500, 429);
    const { id } = await agent.request({ expires_in: 3_600 });
    await world.deliver();
    expect([titles(ada.device).length, titles(ben.device).length]).toEqual([0, 1]);
    await later(world, 10_000);
    await later(world, 10 * MINUTE);
    expect(ada.device.notifications).toMatchObject([{ tag: id, ttl: 3_600 - 610 }]);
  });

  it('that redirects, hangs or answers endlessly is a failure, or is not listened to', async () => {
    const { world, account, agent } = await makeScene();
    const ada = await makePerson(account);
    const ben = await makePerson(account);
    const cem = await makePerson(account);
    let isRead = false;
    const endless = new ReadableStream({
      pull(controller) {
        isRead = controller.desiredSize !== null && controller.desiredSize > 1;
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    world.internet.on('inside.example.com', () => new Response());
    const headers = { Location: 'https://inside.example.com/' };
    world.internet.on(ada.device.host, () => new Response(null, { status: 307, headers }));
    ben.device.failures.push(new Response(endless));
    world.internet.on(cem.device.host, hang(world.internet));
    const { id } = await agent.request();
    await world.deliver();
    const { data } = (await account.must(200, 'GET', `/v1/permissions/${id}/notifications`)).body;
    const errors = Object.fromEntries(
      data.map(({ member_id, last_error }: Json) => [member_id, last_error]),
    );
    expect(errors).toEqual({
      [ada.id]: 'The answer was 307; redirects are not followed.',
      [ben.id]: null,
      [cem.id]: 'No answer within 15 seconds.',
    });
    expect([isRead, world.internet.sentTo('inside.example.com')]).toEqual([false, []]);
  });

  it('with a private address gets nothing', async () => {
    const { world, account, agent } = await makeScene();
    const ada = await makePerson(account);
    world.internet.addresses.set(ada.device.host, ['10.0.0.1']);
    const { id } = await agent.request();
    await world.deliver();
    const [told] = (await account.must(200, 'GET', `/v1/permissions/${id}/notifications`)).body
      .data;
    expect(told.last_error).toBe('The host name has an address that is not public.');
    expect(world.internet.sentTo(ada.device.host)).toEqual([]);
  });

  it('that fails for five days ends the subscription', async () => {
    const { world, account, agent } = await makeScene();
    const ada = await makePerson(account);
    expect(await devicesOf(account, ada)).toHaveLength(1);
    world.internet.on(ada.device.host, () => new Response(null, { status: 403 }));
    for (let day = 0; day < 7; day++) {
      await agent.request();
      await world.deliver();
      await later(world, DAY);
    }
    expect(await devicesOf(account, ada)).toEqual([]);
  });
});
