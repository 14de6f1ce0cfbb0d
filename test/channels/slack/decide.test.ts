import { env } from 'cloudflare:test';
import { describe, expect, it, vi } from 'vitest';
import { FaultyDatabase } from '../../support/faults';
import { makeMember, type TestMember } from '../../support/members';
import { encodePayload } from '../../support/slack';
import { type Json, World } from '../../support/world';
import {
  linkInSlack,
  makeSlackScene,
  openModal,
  requestInSlack,
  type SlackScene,
  sendFromSlack,
  submitModal,
  textsOf,
} from './scene';

const SCOPE = { max_recipients: 50, domains: ['a.example', 'b.example'], note: 'fixed' };

/** A scene with a member who is linked to the Slack user U0ADA. */
async function makeLinkedScene(
  role = 'approver',
  fields: Json = {},
): Promise<SlackScene & { ada: TestMember }> {
  const scene = await makeSlackScene(fields);
  const ada = await makeMember(scene.account, role, 'ada@example.com');
  await linkInSlack(scene, ada);
  return { ...scene, ada };
}

const permissionOf = async ({ account }: SlackScene, id: string): Promise<Json> =>
  (await account.must(200, 'GET', `/v1/permissions/${id}`)).body;

/** Each fits a modal, but not both. */
const LONG_TOGETHER = {
  input: { text: 'ü'.repeat(3_000) },
  preview: { title: 'x', summary: 'ü'.repeat(3_000) },
};

/** What a person is told in private, in order. */
const privateTexts = ({ slack }: SlackScene) => slack.privateMessages.map(textsOf);

describe('a decision in Slack', () => {
  it('narrows and approves a request, as the linked member', async () => {
    const scene = await makeLinkedScene();
    const { world, slack, account, agent, ada } = scene;
    const preview = { title: 'Send news', summary: 'To all customers' };
    const { permission, message } = await requestInSlack(scene, {
      scope: SCOPE,
      preview,
      max_uses: 5,
    });
    const view = await openModal(scene, message);
    expect(textsOf(view)).toContain('To all customers');
    const fields = Object.fromEntries(
      view.blocks.filter(({ label }: Json) => label).map((b: Json) => [b.label.text, b.block_id]),
    );
    const filled = {
      [fields['Limit `max_recipients`']]: '10',
      [fields['Limit `domains`']]: ['1'],
      max_uses: '2',
      reason: 'Ten are enough',
      decision: 'approve',
    };
    expect(await submitModal(scene, view, filled)).toBeNull();
    const decided = await permissionOf(scene, permission.id);
    expect(decided).toMatchObject({
      status: 'approved',
      decided_by: ada.id,
      decision_reason: 'Ten are enough',
      granted_scope: { ...SCOPE, max_recipients: 10, domains: ['b.example'] },
      token: { max_uses: 2 },
    });
    const entry = (await account.log()).find(({ event_type }) => event_type === 'approve');
    expect(entry.details).toMatchObject({ decided_by: ada.id, decided_via: 'slack' });
    await world.deliver();
    expect(message.updates).toBe(1);
    expect(textsOf(message)).toMatch(/Permission approved[\s\S]*Ten are enough/);
    expect(slack.privateMessages).toEqual([]);
    const { body } = await agent.must(200, 'GET', `/v1/permissions/${permission.id}`);
    expect(body.token.value).toMatch(/^ey/);
  });

  it('denies a request in review, and the vote says that it came through Slack', async () => {
    const scene = await makeLinkedScene();
    const policy = {
      name: 'Reviewed',
      effect: 'review',
      actions: ['*'],
      resources: ['*'],
      review: {},
    };
    await scene.account.must(201, 'POST', '/v1/policies', policy);
    scene.world.advance(1);
    const { permission, message } = await requestInSlack(scene);
    const view = await openModal(scene, message);
    expect(await submitModal(scene, view, { decision: 'deny', reason: 'No' })).toBeNull();
    const { status, review } = await permissionOf(scene, permission.id);
    expect([status, review.votes]).toEqual([
      'denied',
      [expect.objectContaining({ by: scene.ada.id, decision: 'deny', via: 'slack', reason: 'No' })],
    ]);
  });

  it('is taken once, although it is submitted twice at once and replayed', async () => {
    const scene = await makeLinkedScene();
    const { slack, account } = scene;
    const { permission, message } = await requestInSlack(scene);
    const view = await openModal(scene, message);
    const bodies = ['approve', 'deny'].map((decision) => slack.submit(view, { decision }));
    const answers = await Promise.all(bodies.map((body) => sendFromSlack(scene, body)));
    expect(answers.map(({ body }) => body.response_action).sort()).toEqual(['clear', 'errors']);
    const replayed = await Promise.all(bodies.map((body) => sendFromSlack(scene, body)));
    for (const { body } of replayed) expect(body.errors.decision).toMatch(/already/);
    const ends = (await account.log()).filter(({ event_type }) =>
      ['approve', 'deny'].includes(event_type),
    );
    expect(ends).toHaveLength(1);
    expect(ends[0].permission_request_id).toBe(permission.id);
  });

  // DEL is the character that grows most on its way: from one byte to `U%2B007F`.
  it.each([
    ['ü', 2, 3_000],
    ['\x7f', 2, 3_000],
    ['\x7f', 0, 4_200],
  ])('is taken by large modals: of many %j and %i lists', async (character, lists, length) => {
    const scene = await makeLinkedScene();
    const members = Array.from({ length: 10 }, (_, i) => i);
    const { permission, message } = await requestInSlack(scene, {
      scope: Object.fromEntries(Array.from({ length: lists }, (_, i) => [`k${i}`, members])),
      input: { text: character.repeat(length) },
      reason: character.repeat(100),
    });
    const view = await openModal(scene, message);
    const body = scene.slack.submit(view, { reason: 'ü'.repeat(1_000), decision: 'approve' });
    expect(body.length).toBeGreaterThan(40 * 1024);
    expect(await sendFromSlack(scene, body)).toMatchObject({
      status: 200,
      body: { response_action: 'clear' },
    });
    expect((await permissionOf(scene, permission.id)).decision_reason).toBe('ü'.repeat(1_000));
  });

  it('shows what is wrong at its field', async () => {
    const scene = await makeLinkedScene();
    const { permission, message } = await requestInSlack(scene, { max_uses: 5 });
    const view = await openModal(scene, message);
    expect(await submitModal(scene, view, { decision: 'approve', max_uses: '6' })).toEqual({
      max_uses: expect.stringMatching(/from 1 to 5/),
    });
    expect((await permissionOf(scene, permission.id)).status).toBe('pending');
  });
});

describe('a click on the button', () => {
  it('of somebody who is not linked leads to the page that links them, in private', async () => {
    const scene = await makeSlackScene();
    const { message } = await requestInSlack(scene);
    expect(await openModal(scene, message)).toBeUndefined();
    const [privateMessage] = scene.slack.privateMessages;
    expect(privateMessage).toMatchObject({ channel: 'C0APPROVALS', user: 'U0ADA' });
    expect(JSON.stringify(privateMessage?.blocks)).toContain(
      'https://countersign.test/console/slack/link?channel=chan_',
    );
  });

  it.each(['approved', 'denied', 'expired', 'withdrawn'])(
    'of a request that is %s tells so and opens nothing',
    async (end) => {
      const scene = await makeLinkedScene();
      const { world, account, agent } = scene;
      const { permission, message } = await requestInSlack(scene, { expires_in: 60 });
      const button = structuredClone(message);
      const path = `/v1/permissions/${permission.id}`;
      world.advance(end === 'expired' ? 60_000 : 1);
      if (end === 'approved') await account.must(200, 'POST', `${path}/approve`, {});
      if (end === 'denied') await account.must(200, 'POST', `${path}/deny`, {});
      if (end === 'withdrawn') await agent.must(200, 'POST', `${path}/withdraw`, {});
      expect(await openModal(scene, button)).toBeUndefined();
      expect(privateTexts(scene)).toEqual([
        expect.stringMatching(end === 'withdrawn' ? /expired already/ : `${end} already`),
      ]);
    },
  );

  it.each([[{ approvals: 2 }], [{ passkey: true }]])(
    'of a request that %j reviews leads to the console',
    async (review) => {
      const scene = await makeLinkedScene();
      await makeMember(scene.account, 'approver');
      const { message } = await requestInSlack(scene, { action: 'a.b' });
      const policy = {
        name: 'Reviewed',
        effect: 'review',
        actions: ['*'],
        resources: ['*'],
        review,
      };
      await scene.account.must(201, 'POST', '/v1/policies', policy);
      scene.world.advance(1);
      const { permission } = await requestInSlack(scene);
      const forged = structuredClone(message);
      forged.blocks.at(-1).elements[0].value = permission.id;
      expect(await openModal(scene, forged)).toBeUndefined();
      expect(privateTexts(scene)).toEqual([
        expect.stringMatching(/several approvals or a passkey/),
      ]);
      expect(JSON.stringify(scene.slack.privateMessages)).toContain(
        `/console/permissions/${permission.id}`,
      );
    },
  );

  it.each(['developer', 'auditor'])(
    'of a member who is %s tells that the role may not decide',
    async (role) => {
      const scene = await makeLinkedScene(role);
      const { message } = await requestInSlack(scene);
      expect(await openModal(scene, message)).toBeUndefined();
      expect(privateTexts(scene)).toEqual([
        expect.stringMatching(/role in Countersign may not decide/),
      ]);
    },
  );

  it('of a member who is no reviewer says so', async () => {
    const scene = await makeLinkedScene();
    const other = await makeMember(scene.account, 'approver');
    const review = { members: [other.id] };
    const policy = { name: 'Reviewed', effect: 'review', actions: ['*'], resources: ['*'], review };
    await scene.account.must(201, 'POST', '/v1/policies', policy);
    scene.world.advance(1);
    const { message } = await requestInSlack(scene);
    expect(await openModal(scene, message)).toBeUndefined();
    expect(privateTexts(scene)).toEqual([expect.stringMatching(/not one of its reviewers/)]);
  });

  it('on what Slack cannot show whole leads to the decision card', async () => {
    const scene = await makeLinkedScene();
    const numbers = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`limit_${i}`, i]));
    const blocks = Array.from({ length: 10 }, () => ({ kind: 'text', text: '&'.repeat(1_500) }));
    const { message } = await requestInSlack(scene, {
      scope: { ...numbers, fixed: '&'.repeat(1_000) },
      ...{ preview: { title: 'Long', blocks }, reason: '&'.repeat(1_000) },
    });
    expect(await openModal(scene, message)).toBeUndefined();
    expect(privateTexts(scene)).toEqual([expect.stringMatching(/too long for Slack/)]);
  });

  it.each([
    [
      'arguments of which only the digest is known',
      { input_digest: `sha-256:${'A'.repeat(43)}` },
      /does not show/,
    ],
    ['arguments that are too long', { input: { text: '語'.repeat(5_000) } }, /too long for Slack/],
    ['a preview that is too long beside its arguments', LONG_TOGETHER, /too long for Slack/],
  ])('on a request with %s leads to the decision card', async (_, fields, reason) => {
    const scene = await makeLinkedScene();
    const { permission, message } = await requestInSlack(scene, fields);
    expect(await openModal(scene, message)).toBeUndefined();
    expect(privateTexts(scene)).toEqual([expect.stringMatching(reason)]);
    expect(JSON.stringify(scene.slack.privateMessages)).toContain(
      `/console/permissions/${permission.id}`,
    );
  });

  it('shows the arguments that the vote approves', async () => {
    const scene = await makeLinkedScene();
    const input = { to: 'mallory@example.com', amount: 9_999 };
    const { message } = await requestInSlack(scene, {
      input,
      preview: { title: 'Pay Ada', summary: '10 euros' },
    });
    expect(JSON.stringify(message)).not.toContain('mallory');
    const shown = textsOf(await openModal(scene, message));
    expect(shown).toContain('10 euros');
    expect(shown).toContain(JSON.stringify(input, null, 2));
  });

  it('does not reach the requests of another account', async () => {
    const scene = await makeLinkedScene();
    const { message } = await requestInSlack(scene);
    const foreign = await (await (await scene.world.account()).agent()).request();
    const forged = structuredClone(message);
    forged.blocks.at(-1).elements[0].value = foreign.id;
    expect(await openModal(scene, forged)).toBeUndefined();
    expect(privateTexts(scene)).toEqual([expect.stringMatching(/no longer exists/)]);
  });

  it('of a channel that is switched off says so', async () => {
    const scene = await makeLinkedScene();
    const { message } = await requestInSlack(scene);
    const view = await openModal(scene, message);
    await scene.account.must(200, 'PUT', scene.path, { is_active: false });
    expect(await openModal(scene, message)).toBeUndefined();
    expect(privateTexts(scene)).toEqual([expect.stringMatching(/switched off/)]);
    expect(await submitModal(scene, view, { decision: 'approve' })).toEqual({
      decision: expect.stringMatching(/switched off/),
    });
  });

  it("says that Slack did not open the modal, and logs Slack's code", async () => {
    const scene = await makeLinkedScene();
    const { message } = await requestInSlack(scene);
    const logs = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    scene.slack.failures.push('expired_trigger_id');
    expect(await openModal(scene, message)).toBeUndefined();
    expect(logs.mock.calls.join()).toMatch(/slack_call_failed.*expired_trigger_id/);
    logs.mockRestore();
    expect(privateTexts(scene)).toEqual([expect.stringMatching(/could not open the form/)]);
  });
});

describe('a submission is refused', () => {
  async function makeOpenModal(review: Json | null = null) {
    const scene = await makeLinkedScene();
    const other = await makeMember(scene.account, 'approver', 'ben@example.com');
    if (review) {
      const policy = {
        name: 'Reviewed',
        effect: 'review',
        actions: ['*'],
        resources: ['*'],
        review,
      };
      await scene.account.must(201, 'POST', '/v1/policies', policy);
    }
    scene.world.advance(1);
    const { permission, message } = await requestInSlack(scene);
    return { ...scene, scene, other, permission, view: await openModal(scene, message) };
  }

  it('if the request was decided meanwhile', async () => {
    const { scene, account, permission, view } = await makeOpenModal();
    await account.must(200, 'POST', `/v1/permissions/${permission.id}/deny`, {});
    expect(await submitModal(scene, view, { decision: 'approve' })).toEqual({
      decision: 'The request is denied already.',
    });
  });

  it('if the modal was made before another vote', async () => {
    const { scene, view } = await makeOpenModal({});
    const metadata = JSON.stringify({ ...JSON.parse(view.private_metadata), votes: 1 });
    const old = { ...view, private_metadata: metadata };
    expect(await submitModal(scene, old, { decision: 'approve' })).toEqual({
      decision: expect.stringMatching(/^Somebody voted/),
    });
  });

  it('of a reviewer who owns the agent', async () => {
    const { scene, account, agent, ada, view, permission } = await makeOpenModal({});
    await account.must(200, 'PUT', `/v1/agents/${agent.id}`, { owner_id: ada.id });
    expect(await submitModal(scene, view, { decision: 'approve' })).toEqual({
      decision: expect.stringMatching(/own the agent/),
    });
    expect(await submitModal(scene, view, { decision: 'deny' })).toBeNull();
    expect((await permissionOf(scene, permission.id)).status).toBe('denied');
  });

  it.each([
    [
      'suspended',
      async ({ account, ada }: Json) =>
        account.must(200, 'PUT', `/v1/members/${ada.id}`, { status: 'suspended' }),
    ],
    [
      'removed',
      async ({ account, ada }: Json) => account.must(204, 'DELETE', `/v1/members/${ada.id}`),
    ],
  ])('of a member who is %s, although they come back', async (_, end) => {
    const made = await makeOpenModal();
    const { scene, account, ada, view, permission } = made;
    await end(made);
    expect(await submitModal(scene, view, { decision: 'approve' })).toEqual({
      decision: expect.stringMatching(/not linked/),
    });
    await account.call('PUT', `/v1/members/${ada.id}`, { status: 'active' });
    expect(await submitModal(scene, view, { decision: 'approve' })).toEqual({
      decision: expect.stringMatching(/not linked/),
    });
    expect((await permissionOf(scene, permission.id)).status).toBe('pending');
  });

  it.each([
    [
      'the member is suspended',
      ({ account, ada }: Json) =>
        account.must(200, 'PUT', `/v1/members/${ada.id}`, { status: 'suspended' }),
    ],
    [
      'the member gets another role',
      ({ account, ada }: Json) =>
        account.must(200, 'PUT', `/v1/members/${ada.id}`, { role: 'admin' }),
    ],
    [
      'the channel is switched off',
      ({ account, path }: Json) => account.must(200, 'PUT', path, { is_active: false }),
    ],
    [
      'the secrets change',
      ({ account, path, channel }: Json) =>
        account.must(200, 'PUT', path, {
          config: { ...channel.config, bot_token: 'xoxb-0123456789-another' },
        }),
    ],
  ])('if %s after the submission was read, and nothing is written', async (_, happens) => {
    const { scene, world, account, permission, view } = await makeOpenModal();
    const database = new FaultyDatabase(env.DB);
    const body = scene.slack.submit(view, { decision: 'approve' });
    const headers = await scene.slack.sign(body);
    const elsewhere = { ...world.env };
    world.env.DB = database.binding;
    database.before(3, async () => {
      world.env.DB = elsewhere.DB;
      await happens(scene);
    });
    const { body: answer } = await sendFromSlack(scene, body, headers);
    expect(answer).toEqual({
      response_action: 'errors',
      errors: { decision: expect.stringMatching(/not linked/) },
    });
    expect((await permissionOf(scene, permission.id)).status).toBe('pending');
    expect((await account.log()).map(({ event_type }) => event_type)).toEqual(['request']);
  });

  it('of a member who lost the role', async () => {
    const { scene, account, ada, view } = await makeOpenModal();
    await account.must(200, 'PUT', `/v1/members/${ada.id}`, { role: 'auditor' });
    expect(await submitModal(scene, view, { decision: 'approve' })).toEqual({
      decision: expect.stringMatching(/role/),
    });
  });

  it('of another Slack user, and of the same one in another workspace', async () => {
    const { scene, slack, view } = await makeOpenModal();
    slack.addPerson('U0BEN', 'ben@example.com', 'Ben');
    expect(await submitModal(scene, view, { decision: 'approve' }, 'U0BEN')).toEqual({
      decision: expect.stringMatching(/not linked/),
    });
    const body = slack.submit(view, { decision: 'approve' }).replaceAll('T0WORKSPACE', 'T0OTHER');
    expect((await sendFromSlack(scene, body)).body.response_action).toBe('errors');
  });

  it('if the permission is of another account', async () => {
    const { scene, world, view } = await makeOpenModal();
    const foreign = await (await (await world.account()).agent()).request();
    const forged = {
      ...view,
      private_metadata: JSON.stringify({ permission: foreign.id, votes: 0 }),
    };
    expect(await submitModal(scene, forged, { decision: 'approve' })).toEqual({
      decision: 'The request no longer exists.',
    });
  });
});

describe('a request to the address of a channel', () => {
  it('must be signed by its own app within five minutes', async () => {
    const scene = await makeLinkedScene();
    const { world, slack } = scene;
    const { permission, message } = await requestInSlack(scene);
    const view = await openModal(scene, message);
    const body = slack.submit(view, { decision: 'approve' });
    const signed = await slack.sign(body);
    const other = (await makeSlackScene({}, world)).slack;
    for (const headers of [
      {},
      { ...signed, 'X-Slack-Signature': `v0=${'0'.repeat(64)}` },
      { 'X-Slack-Signature': signed['X-Slack-Signature'] ?? '' },
      await slack.sign(body, world.now - 301_000),
      await slack.sign(body, world.now + 301_000),
      await slack.sign(`${body} `),
      await other.sign(body),
    ]) {
      const { status, body: problem } = await sendFromSlack(scene, body, headers);
      expect([status, problem.code]).toEqual([403, 'invalid_signature']);
    }
    expect((await permissionOf(scene, permission.id)).status).toBe('pending');
    expect((await sendFromSlack(scene, body, signed)).status).toBe(200);
  });

  it('is not found for another secret, whatever its body, and too large over 64 KiB', async () => {
    const scene = await makeSlackScene();
    const { world, channel } = scene;
    const path = channel.inbound_url.replace('https://countersign.test', '');
    for (const secret of ['x', 'csh_000', path.split('/')[3].replace(/.$/, '!')]) {
      for (const raw of ['payload={}', 'x'.repeat(2 * 1024 * 1024)]) {
        expect((await world.call('POST', `/v1/inbound/${secret}/slack`, { raw })).status).toBe(404);
      }
    }
    const longest = `payload=${'x'.repeat(64 * 1024 - 'payload='.length)}`;
    expect((await sendFromSlack(scene, longest)).status).toBe(200);
    expect((await sendFromSlack(scene, `${longest}x`)).status).toBe(413);
    expect((await sendFromSlack(scene, `${longest}x`, {})).status).toBe(413);
    await scene.account.must(204, 'DELETE', scene.path);
    expect((await sendFromSlack(scene, 'payload={}')).status).toBe(404);
  });

  it('counts against the network only if it is refused', async () => {
    const counted: string[] = [];
    const limiter = {
      limit: async ({ key }: { key: string }) => {
        counted.push(key);
        return { success: counted.length < 3 };
      },
    };
    const world = new World();
    const scene = await makeSlackScene({}, world);
    world.restart({
      RATE_LIMITS: 'on',
      CREDENTIAL_LIMITER: limiter,
      ADDRESS_LIMITER: limiter,
      ACCOUNT_LIMITER: limiter,
    });
    expect((await sendFromSlack(scene, 'payload={}')).status).toBe(200);
    expect(counted).toEqual([]);
    const statuses = [];
    for (let i = 0; i < 3; i++)
      statuses.push((await sendFromSlack(scene, 'payload={}', {})).status);
    expect(statuses).toEqual([403, 403, 429]);
    expect((await world.call('POST', '/v1/inbound/x/slack', { raw: '' })).status).toBe(429);
  });

  it.each([
    ['payload=x'],
    ['nothing'],
    [''],
    [encodePayload({ type: 'shortcut' })],
    [
      encodePayload({
        type: 'view_submission',
        user: { id: 'U0ADA', team_id: 'T0' },
        view: { callback_id: 'other' },
      }),
    ],
  ])('that is of no use is answered and ignored: %j', async (body) => {
    const scene = await makeSlackScene();
    const { status, body: answer } = await sendFromSlack(scene, body);
    expect([status, answer]).toEqual([200, {}]);
    expect(scene.slack.calls).toEqual([]);
  });

  it('costs a round trip for its address, one to be read, and one more to decide', async () => {
    const scene = await makeLinkedScene();
    const { message } = await requestInSlack(scene);
    const { cost } = await sendFromSlack(scene, scene.slack.click(message, 'review_permission'));
    expect(cost.trips).toBe(2);
    const body = scene.slack.submit(scene.slack.views[0], { decision: 'approve' });
    expect((await sendFromSlack(scene, body)).cost.trips).toBe(3);
  });
});
