import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { Browser } from '../../support/browser';
import { makeMember } from '../../support/members';
import type { Json } from '../../support/world';
import {
  linkInSlack,
  linkPath,
  makeSlackScene,
  openModal,
  requestInSlack,
  type SlackScene,
  submitModal,
  textsOf,
} from './scene';

const MINUTE = 60_000;

async function makeScene(email = 'Ada@Example.com') {
  const scene = await makeSlackScene();
  const ada = await makeMember(scene.account, 'approver', email);
  return { ...scene, scene, ada };
}

/** Whether the Slack user is linked: only then the button opens a modal. */
async function isLinked(scene: SlackScene, userId?: string): Promise<boolean> {
  const { message } = await requestInSlack(scene);
  return (await openModal(scene, message, userId)) !== undefined;
}

/** How many Slack users are linked, by all channels of this file. */
async function countLinks(): Promise<number> {
  return (await env.DB.prepare('select * from slack_links').all()).results.length;
}

const actions = async ({ account }: SlackScene): Promise<string[]> =>
  (await account.must(200, 'GET', '/v1/activity')).body.data.map(({ action }: Json) => action);

describe('a Slack user', () => {
  it('is linked by the page to which the private message leads, and then decides', async () => {
    const { scene, slack, ada } = await makeScene();
    const { permission, message } = await requestInSlack(scene);
    expect(await openModal(scene, message)).toBeUndefined();
    const [privateMessage] = slack.privateMessages;
    const url: string =
      privateMessage?.blocks.flatMap(({ elements = [] }) => elements).find(({ url }: Json) => url)
        ?.url ?? '';
    const path = url.replace('https://countersign.test', '');
    const { status, text } = await ada.browser.get(path);
    expect(status).toBe(200);
    for (const shown of ['Workspace', 'Ada', 'ada@example.com', 'Ada@Example.com'])
      expect(text).toContain(shown);
    expect((await ada.browser.submit(path, { decision: 'confirm' })).headers.get('Location')).toBe(
      '/console/me',
    );
    const view = await openModal(scene, message);
    expect(await submitModal(scene, view, { decision: 'approve' })).toBeNull();
    const { body } = await scene.account.must(200, 'GET', `/v1/permissions/${permission.id}`);
    expect(body.decided_by).toBe(ada.id);
    expect(await actions(scene)).toContain('slack_user.linked');
    const { text: me } = await ada.browser.get('/console/me');
    expect(me).toMatch(/U0ADA[\s\S]*Unlink/);
  });

  it('is not linked if the e-mail addresses differ', async () => {
    const { scene, ada } = await makeScene('eve@example.com');
    const path = await linkPath(scene);
    const { text } = await ada.browser.get(path);
    expect(text).toContain('The e-mail addresses differ');
    expect(text).not.toContain('value="confirm"');
    expect((await ada.browser.submit(path, { decision: 'confirm' })).status).toBe(403);
    expect(await isLinked(scene)).toBe(false);
  });

  it.each([
    ['has no e-mail address', { email: '' }, /users:read\.email/],
    ['belongs to another workspace', { team_id: 'T0OTHER' }, /another workspace/],
    ['belongs to another organization', { team_id: 'E0OTHER' }, /another workspace/],
  ])('is not linked if it %s', async (_, fields, reason) => {
    const { scene, slack, ada } = await makeScene();
    Object.assign(slack, { organizationId: 'E0ORGANIZATION' });
    slack.people.set('U0ADA', {
      id: 'U0ADA',
      team_id: slack.teamId,
      email: 'ada@example.com',
      name: 'Ada',
      ...fields,
    });
    const answer = await ada.browser.submit(await linkPath(scene), { decision: 'confirm' });
    expect([answer.status, reason.test(answer.text)]).toEqual([403, true]);
    expect(await isLinked(scene)).toBe(false);
  });

  it.each([null, 'E0ORGANIZATION'])(
    'is linked although Slack names an organization, %s for the app',
    async (own) => {
      const { scene, slack, ada } = await makeScene();
      Object.assign(slack, { organizationId: own });
      const person = {
        id: 'U0ADA',
        team_id: 'E0ORGANIZATION',
        email: 'ada@example.com',
        name: 'Ada',
      };
      slack.people.set('U0ADA', person);
      await linkInSlack(scene, ada);
      expect(await isLinked(scene)).toBe(true);
    },
  );

  it('is not linked while Slack says nothing', async () => {
    const { scene, slack, ada } = await makeScene();
    slack.failures.push('internal_error', 'internal_error');
    const { status, text } = await ada.browser.get(await linkPath(scene));
    expect([status, text.includes('Slack did not say who the user is')]).toEqual([200, true]);
  });

  it('is linked only within 10 minutes of a sign-in', async () => {
    const { scene, world, ada } = await makeScene();
    world.advance(11 * MINUTE);
    const path = await linkPath(scene);
    const { text } = await ada.browser.get(path);
    expect(text).toMatch(/Sign out and in again/);
    expect((await ada.browser.submit(path, { decision: 'confirm' })).status).toBe(403);
    expect(await isLinked(scene)).toBe(false);
    await ada.browser.signIn();
    expect((await ada.browser.submit(path, { decision: 'confirm' })).status).toBe(303);
    expect(await isLinked(scene)).toBe(true);
  });

  it('is linked by no address that was changed or is older than 15 minutes, and by no session of a token', async () => {
    const { scene, world, account, slack, ada } = await makeScene();
    slack.addPerson('U0EVE', 'ada@example.com', 'Eve');
    const path = await linkPath(scene);
    for (const changed of [
      path.replace('U0ADA', 'U0EVE'),
      path.replace('T0WORKSPACE', 'T0'),
      `${path}x`,
      '/console/slack/link',
    ]) {
      expect((await ada.browser.submit(changed, { decision: 'confirm' })).status).toBe(403);
    }
    const browser = new Browser(world);
    await browser.signInWithToken(account.token);
    expect((await browser.submit(path, { decision: 'confirm' })).status).toBe(403);
    world.advance(15 * MINUTE);
    await ada.browser.signIn();
    expect((await ada.browser.submit(path, { decision: 'confirm' })).status).toBe(403);
    expect(await isLinked(scene)).toBe(false);
  });

  it.each(['bot_token', 'signing_secret'])(
    'is linked by no address from before another %s',
    async (name) => {
      const { scene, account, path, ada } = await makeScene();
      const before = await linkPath(scene);
      const value = name === 'bot_token' ? 'xoxb-another' : '0123456789abcdef0123456789abcdef';
      await account.must(200, 'PUT', path, { config: { [name]: value } });
      const { status, text } = await ada.browser.submit(before, { decision: 'confirm' });
      expect([status, text.includes('Press the button in Slack again')]).toEqual([403, true]);
      Object.assign(
        scene.slack,
        name === 'bot_token' ? { token: value } : { signingSecret: value },
      );
      await linkInSlack(scene, ada);
      expect(await isLinked(scene)).toBe(true);
    },
  );

  it.each([
    ['\u212aim@example.com', 'kim@example.com', 403],
    ['KIM@example.com', 'kim@EXAMPLE.com', 303],
  ])(
    'whose address is %s in Slack, and %s here, is answered %i',
    async (inSlack, here, expected) => {
      const { scene, slack, ada } = await makeScene(here);
      slack.addPerson('U0ADA', inSlack, 'Kim');
      expect(
        (await ada.browser.submit(await linkPath(scene), { decision: 'confirm' })).status,
      ).toBe(expected);
    },
  );

  it('sees the page after two round trips at most', async () => {
    const { scene, ada } = await makeScene();
    const path = await linkPath(scene);
    expect((await ada.browser.get(path)).cost.trips).toBeLessThanOrEqual(2);
  });

  it('is linked only with the CSRF token, and asks for sign-in first', async () => {
    const { scene, world, ada } = await makeScene();
    const path = await linkPath(scene);
    expect((await ada.browser.submit(path, { decision: 'confirm', csrf: 'x' })).status).toBe(403);
    const { status, headers } = await new Browser(world).get(path);
    expect([status, headers.get('Location')]).toEqual([
      302,
      expect.stringMatching(/^\/console\/sign-in\?return=/),
    ]);
    expect(await isLinked(scene)).toBe(false);
  });

  it('is not linked to a member of another account', async () => {
    const { scene, world } = await makeScene();
    const foreign = await makeMember(await world.account(), 'owner', 'ada@example.com');
    expect(
      (await foreign.browser.submit(await linkPath(scene), { decision: 'confirm' })).status,
    ).toBe(404);
    expect(await isLinked(scene)).toBe(false);
  });
});

describe('a link', () => {
  async function makeLinked() {
    const made = await makeScene();
    await linkInSlack(made.scene, made.ada);
    expect(await isLinked(made.scene)).toBe(true);
    return made;
  }

  it('belongs to one channel', async () => {
    const { world, slack, account, ada } = await makeLinked();
    const body = { kind: 'slack', name: 'Second', config: slack.config };
    const { body: channel } = await account.must(201, 'POST', '/v1/channels', body);
    const second = { world, slack, account, agent: await account.agent(), channel, path: '' };
    expect(await isLinked(second)).toBe(false);
    await linkInSlack(second, ada);
    expect(await isLinked(second)).toBe(true);
  });

  it.each(['bot_token', 'signing_secret'])(
    'ends when the channel gets another %s',
    async (name) => {
      const { slack, account, path, channel } = await makeLinked();
      const before = await countLinks();
      await account.must(200, 'PUT', path, { config: { ...channel.config, ...slack.config } });
      expect(await countLinks()).toBe(before);
      const secret =
        name === 'bot_token' ? 'xoxb-0123456789-another' : '0123456789abcdef0123456789abcdef';
      await account.must(200, 'PUT', path, { config: { ...channel.config, [name]: secret } });
      expect(await countLinks()).toBe(before - 1);
    },
  );

  it('ends with the channel', async () => {
    const { account, path } = await makeLinked();
    const before = await countLinks();
    await account.must(204, 'DELETE', path);
    expect(await countLinks()).toBe(before - 1);
  });

  it('is erased with the account', async () => {
    const before = await countLinks();
    const { world, account } = await makeLinked();
    await world.must(202, 'DELETE', `/v1/admin/users/${account.id}`, { token: env.ADMIN_TOKEN });
    await world.sweep();
    expect(await countLinks()).toBe(before);
  });

  it('ends when the member is suspended or removed', async () => {
    const { scene, account, ada } = await makeLinked();
    const before = await countLinks();
    await account.must(200, 'PUT', `/v1/members/${ada.id}`, { status: 'suspended' });
    expect(await countLinks()).toBe(before - 1);
    await account.must(200, 'PUT', `/v1/members/${ada.id}`, { status: 'active' });
    await ada.browser.signIn();
    await linkInSlack(scene, ada);
    await account.must(204, 'DELETE', `/v1/members/${ada.id}`);
    expect(await countLinks()).toBe(before - 1);
    expect(await isLinked(scene)).toBe(false);
  });

  it('is ended by the member alone, on their own page', async () => {
    const { scene, account, channel, ada } = await makeLinked();
    const fields = { channel: channel.id, team: 'T0WORKSPACE', user: 'U0ADA' };
    const other = await makeMember(account, 'owner');
    expect((await other.browser.submit('/console/me/slack/unlink', fields)).status).toBe(404);
    expect(
      (await ada.browser.submit('/console/me/slack/unlink', { ...fields, channel: 'x' })).status,
    ).toBe(404);
    expect(await isLinked(scene)).toBe(true);
    expect((await ada.browser.submit('/console/me/slack/unlink', fields)).status).toBe(303);
    expect(await isLinked(scene)).toBe(false);
    expect((await ada.browser.submit('/console/me/slack/unlink', fields)).status).toBe(404);
    expect(await actions(scene)).toContain('slack_user.unlinked');
    expect((await ada.browser.get('/console/me')).text).not.toContain('Unlink');
  });

  it('is begun by the address that the page of the channel shows to those who may read it', async () => {
    const { account, channel } = await makeLinked();
    const admin = await makeMember(account, 'admin');
    const { status, text } = await admin.browser.get(`/console/channels/${channel.id}`);
    expect([status, text.includes(channel.inbound_url)]).toEqual([200, true]);
    expect(text).not.toContain('xoxb-');
  });

  it('shows no more than the ids that Slack gave', async () => {
    const { scene, ada } = await makeLinked();
    const { text } = await ada.browser.get('/console/me');
    expect(text).not.toContain(scene.slack.token);
    expect(textsOf(scene.slack.privateMessages)).not.toContain(scene.slack.token);
  });
});
