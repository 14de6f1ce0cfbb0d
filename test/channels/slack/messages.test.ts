import { describe, expect, it } from 'vitest';
import { makeMember } from '../../support/members';
import { makeWebhook } from '../../support/webhooks';
import type { Json, TestAccount } from '../../support/world';
import { buttonsOf, makeSlackScene, requestInSlack, textsOf } from './scene';

async function notifications(account: TestAccount, id: string): Promise<Json[]> {
  return (await account.must(200, 'GET', `/v1/permissions/${id}/notifications`)).body.data;
}

async function makeReviewPolicy(account: TestAccount, review: Json): Promise<void> {
  const policy = { name: 'Reviewed', effect: 'review', actions: ['*'], resources: ['*'], review };
  await account.must(201, 'POST', '/v1/policies', policy);
}

describe('a request', () => {
  it('is posted with a button to the Slack channels that want it, and its place is kept', async () => {
    const agents: Json = {
      config: {
        channels: [{ id: 'C0APPROVALS' }, { id: 'C0PAYMENTS', filter: { actions: ['payment.*'] } }],
      },
    };
    const scene = await makeSlackScene(agents);
    const { slack, account } = scene;
    slack.channels.add('C0PAYMENTS');
    const input = { secret: 'not for Slack' };
    const { permission, message } = await requestInSlack(scene, {
      preview: { title: 'Pay Ada', summary: 'In full' },
      input,
    });
    expect(slack.messages).toHaveLength(1);
    expect(message.channel).toBe('C0APPROVALS');
    expect(buttonsOf(message)).toEqual(['review_permission', 'open_in_countersign']);
    expect(textsOf(message)).toContain('Pay Ada');
    expect(JSON.stringify(slack.calls[0]?.body)).not.toMatch(/In full|not for Slack/);
    expect(slack.calls[0]?.body).toMatchObject({
      channel: 'C0APPROVALS',
      parse: 'none',
      link_names: false,
      mrkdwn: false,
    });
    await requestInSlack(scene, { action: 'payment.send' });
    expect(slack.messages.map(({ channel }) => channel).sort()).toEqual([
      'C0APPROVALS',
      'C0APPROVALS',
      'C0PAYMENTS',
    ]);
    const [told] = await notifications(account, permission.id);
    expect(told).toMatchObject({
      kind: 'slack',
      slack_channel: 'C0APPROVALS',
      member_id: null,
      status: 'succeeded',
    });
  });

  it.each([[{ approvals: 2 }], [{ passkey: true }]])(
    'that %j reviews is posted with a link alone',
    async (review) => {
      const scene = await makeSlackScene();
      for (let i = 0; i < 2; i++) await makeMember(scene.account, 'approver');
      await makeReviewPolicy(scene.account, review);
      scene.world.advance(1);
      const { message } = await requestInSlack(scene);
      expect(buttonsOf(message)).toEqual(['open_in_countersign']);
    },
  );

  it('that a policy decides is posted neither before nor after', async () => {
    const { world, slack, account, agent, path } = await makeSlackScene();
    const policy = { name: 'Fine', effect: 'approve', actions: ['*'], resources: ['*'] };
    await account.must(201, 'POST', '/v1/policies', policy);
    await agent.request();
    await world.deliver();
    expect(slack.calls).toEqual([]);
    expect((await account.must(200, 'GET', `${path}/deliveries`)).body.data).toEqual([]);
  });

  it('that is escalated is posted once more', async () => {
    const scene = await makeSlackScene();
    const { world, slack, account } = scene;
    const member = await makeMember(account, 'approver');
    await makeMember(account, 'admin');
    await makeReviewPolicy(account, {
      members: [member.id],
      escalation: { after: 60, roles: ['admin'] },
    });
    world.advance(1);
    const { permission } = await requestInSlack(scene, { expires_in: 3_600 });
    world.advance(61_000);
    await world.sweep();
    await world.deliver();
    expect(slack.messages.map((message) => textsOf(message).includes('escalated'))).toEqual([
      false,
      true,
    ]);
    await world.must(200, 'POST', `/v1/permissions/${permission.id}/deny`, { token: member.token });
    slack.failures.push('internal_error');
    await world.deliver();
    world.advance(10_000);
    await world.sweep();
    await world.deliver();
    expect(slack.messages.map((message) => /Permission denied/.test(textsOf(message)))).toEqual([
      true,
      true,
    ]);
    expect(slack.messages.map(buttonsOf)).toEqual([
      ['open_in_countersign'],
      ['open_in_countersign'],
    ]);
  });
});

describe('the message about a request', () => {
  it('is updated when it is denied elsewhere', async () => {
    const scene = await makeSlackScene();
    const { world, slack, account } = scene;
    const ada = await makeMember(account, 'approver', 'ada@example.com');
    const { permission, message } = await requestInSlack(scene);
    const body = { reason: 'Too much <!channel>' };
    await world.must(200, 'POST', `/v1/permissions/${permission.id}/deny`, {
      token: ada.token,
      body,
    });
    await world.deliver();
    expect(slack.messages).toHaveLength(1);
    expect(message.updates).toBe(1);
    expect(textsOf(message)).toMatch(/Permission denied[\s\S]*ada@example.com[\s\S]*Too much/);
    expect(message.text).toContain('Too much &lt;!channel&gt;');
    expect(buttonsOf(message)).toEqual(['open_in_countersign']);
  });

  it('is updated when it expires', async () => {
    const scene = await makeSlackScene();
    const { world } = scene;
    const { message } = await requestInSlack(scene, { expires_in: 60 });
    world.advance(60_000);
    await world.sweep();
    await world.deliver();
    expect(textsOf(message)).toContain('Request expired');
  });

  it.each<[string, (scene: Awaited<ReturnType<typeof makeSlackScene>>) => Json]>([
    [
      'names another Slack channel',
      ({ slack }) => {
        slack.channels.add('C0OTHER00');
        return { config: { channels: [{ id: 'C0OTHER00' }] } };
      },
    ],
    ['is for other actions', () => ({ filter: { actions: ['no.such'] } })],
    ['names no event of requests', () => ({ events: ['webhook.disabled'] })],
  ])('is updated although the channel now %s', async (_, change) => {
    const scene = await makeSlackScene();
    const { world, slack, account, path } = scene;
    const { permission, message } = await requestInSlack(scene);
    await account.must(200, 'PUT', path, change(scene));
    await account.must(200, 'POST', `/v1/permissions/${permission.id}/deny`, {});
    await world.deliver();
    expect(textsOf(message)).toContain('Permission denied');
    expect(buttonsOf(message)).toEqual(['open_in_countersign']);
    expect(slack.messages.filter(({ channel }) => channel === 'C0APPROVALS')).toHaveLength(1);
  });

  it('is left alone when people deleted it', async () => {
    const scene = await makeSlackScene();
    const { world, slack, account } = scene;
    const { permission } = await requestInSlack(scene);
    slack.messages.length = 0;
    await account.must(200, 'POST', `/v1/permissions/${permission.id}/deny`, {});
    await world.deliver();
    expect(slack.messages).toEqual([]);
    const told = await notifications(account, permission.id);
    expect(told).toContainEqual(
      expect.objectContaining({
        event: 'permission.decided',
        status: 'succeeded',
        last_error: null,
      }),
    );
  });

  it('is updated when its agent takes it back', async () => {
    const scene = await makeSlackScene();
    const { world, agent } = scene;
    const { permission, message } = await requestInSlack(scene);
    world.advance(1_000);
    await agent.must(200, 'POST', `/v1/permissions/${permission.id}/withdraw`, {});
    await world.deliver();
    expect(textsOf(message)).toContain('Request withdrawn');
  });

  it('is updated although the channel names requests alone', async () => {
    const scene = await makeSlackScene({ events: ['permission.requested'] });
    const { world, slack, account, agent } = scene;
    const { permission, message } = await requestInSlack(scene);
    await account.must(200, 'POST', `/v1/permissions/${permission.id}/deny`, {});
    slack.failures.push('internal_error', 'internal_error');
    await world.deliver();
    const { id } = await agent.request();
    await world.deliver();
    await account.must(200, 'POST', `/v1/permissions/${id}/deny`, {});
    world.advance(10_000);
    await world.sweep();
    await world.deliver();
    expect(textsOf(message)).toContain('Permission denied');
    expect(slack.messages).toHaveLength(1);
  });

  it('that could not be posted in time is left out, and the decision of a person is posted instead', async () => {
    const scene = await makeSlackScene();
    const { world, slack, account, agent } = scene;
    slack.failures.push('internal_error', 'internal_error');
    const decided = await agent.request();
    const withdrawn = await agent.request();
    await world.deliver();
    await account.must(200, 'POST', `/v1/permissions/${decided.id}/approve`, {});
    world.advance(1);
    await agent.must(200, 'POST', `/v1/permissions/${withdrawn.id}/withdraw`, {});
    world.advance(10_000);
    await world.sweep();
    await world.deliver();
    expect(slack.messages.map(textsOf)).toEqual([expect.stringContaining('Permission approved')]);
    expect(
      (await notifications(account, decided.id)).map(({ event, status }) => [event, status]),
    ).toEqual([
      ['permission.decided', 'succeeded'],
      ['permission.requested', 'failed'],
    ]);
    expect(
      (await notifications(account, withdrawn.id)).map(({ last_error }) => last_error),
    ).toEqual([
      'No message about the request was posted, so there is none to update.',
      'The request ended before the message was sent.',
    ]);
  });
});

describe('the end of a request about which nothing was posted', () => {
  it.each<[string, string[], string[]]>([
    ['expires', ['permission.expired'], ['Request expired']],
    ['expires', ['permission.decided'], []],
    ['is denied', ['permission.decided'], ['Permission denied']],
    ['is denied', ['permission.expired'], []],
    ['is withdrawn', ['permission.expired', 'permission.decided'], []],
  ])('that %s is posted only if the channel names it: %j', async (end, events, posted) => {
    const { world, slack, account, agent } = await makeSlackScene({ events });
    const { id } = await agent.request({ expires_in: 60 });
    await world.deliver();
    world.advance(end === 'expires' ? 60_000 : 1);
    if (end === 'is denied') await account.must(200, 'POST', `/v1/permissions/${id}/deny`, {});
    if (end === 'is withdrawn') await agent.must(200, 'POST', `/v1/permissions/${id}/withdraw`, {});
    await world.sweep();
    await world.deliver();
    expect(slack.messages.map(({ text }) => text.split('\n')[0])).toEqual(posted);
    expect(slack.messages.flatMap(buttonsOf)).toEqual(posted.map(() => 'open_in_countersign'));
  });

  it('is posted if the message that asked could not be posted in time, and it expired', async () => {
    const { world, slack, agent } = await makeSlackScene();
    slack.failures.push('internal_error');
    await agent.request({ expires_in: 60 });
    await world.deliver();
    world.advance(60_000);
    await world.sweep();
    await world.deliver();
    expect(slack.messages.map(({ text }) => text.split('\n')[0])).toEqual(['Request expired']);
  });
});

describe('sending', () => {
  it.each([
    [
      'not_in_channel',
      'The app is not a member of the channel. Invite it there. (Slack: not_in_channel)',
    ],
    ['invalid_auth', 'The bot token is not valid. (Slack: invalid_auth)'],
  ])('fails with plain words where Slack refuses with %s', async (code, words) => {
    const scene = await makeSlackScene();
    scene.slack.failures.push(code);
    const { id } = await scene.agent.request();
    await scene.world.deliver();
    const [told] = await notifications(scene.account, id);
    expect(told).toMatchObject({
      status: 'pending',
      attempts: 1,
      last_status_code: 200,
      last_error: words,
    });
  });

  it('waits as long as Slack asks', async () => {
    const { world, slack, account, agent } = await makeSlackScene();
    slack.failures.push('ratelimited');
    const { id } = await agent.request();
    await world.deliver();
    const [told] = await notifications(account, id);
    expect(told).toMatchObject({
      last_status_code: 429,
      last_error: expect.stringMatching(/too many messages/),
    });
    expect(Date.parse(told.next_attempt_at)).toBe(world.now + 30_000);
    world.advance(30_000);
    await world.sweep();
    await world.deliver();
    expect(slack.messages).toHaveLength(1);
  });

  it('does not post to a Slack channel that the channel no longer names', async () => {
    const { world, slack, account, agent, path } = await makeSlackScene();
    slack.failures.push('internal_error');
    await agent.request();
    await world.deliver();
    await account.must(200, 'PUT', path, { config: { channels: [{ id: 'C0OTHER00' }] } });
    world.advance(10_000);
    await world.sweep();
    await world.deliver();
    expect(slack.messages).toEqual([]);
  });

  it('uses the new bot token at once', async () => {
    const { world, slack, account, agent, path, channel } = await makeSlackScene();
    await account.must(200, 'PUT', path, {
      config: { ...channel.config, bot_token: 'xoxb-000-expired-token' },
    });
    const { id } = await agent.request();
    await world.deliver();
    expect((await notifications(account, id))[0].last_error).toMatch(/bot token is not valid/);
    await account.must(200, 'PUT', path, { config: slack.config });
    world.advance(10_000);
    await world.sweep();
    await world.deliver();
    expect(slack.messages).toHaveLength(1);
  });
});

describe('other messages', () => {
  it('of a test go to every Slack channel', async () => {
    const scene = await makeSlackScene({
      config: {
        channels: [{ id: 'C0APPROVALS' }, { id: 'C0PAYMENTS', filter: { actions: ['x.y'] } }],
      },
    });
    const { world, slack, account, path } = scene;
    slack.channels.add('C0PAYMENTS');
    const { body } = await account.must(202, 'POST', `${path}/test`, {});
    expect(body).toMatchObject({
      event: 'webhook.test',
      slack_channel: 'C0APPROVALS',
      member_id: null,
    });
    await world.deliver();
    expect(slack.messages.map(({ channel }) => channel).sort()).toEqual([
      'C0APPROVALS',
      'C0PAYMENTS',
    ]);
    expect((await account.must(200, 'GET', `${path}/deliveries`)).body.data).toHaveLength(2);
  });

  it('tell of a webhook that the service disabled', async () => {
    const { world, slack, account, agent } = await makeSlackScene({ events: ['webhook.disabled'] });
    const webhook = await makeWebhook(account, { events: ['audit.created'] });
    world.internet.on(webhook.host, () => new Response(null, { status: 410 }));
    await agent.request();
    await world.deliver();
    await world.sweep();
    await world.deliver();
    expect(slack.messages.map(textsOf)).toEqual([expect.stringContaining('410')]);
  });
});
