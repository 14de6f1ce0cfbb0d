import { beforeAll, describe, expect, it } from 'vitest';
import { pages } from '../../src/console/pages';
import { Browser } from '../support/browser';
import { makeMember, type TestMember } from '../support/members';
import { makeWebhook } from '../support/webhooks';
import { type Answer, type Json, ORIGIN, type TestAccount, World } from '../support/world';

const MINUTE = 60_000;

/**
 * What outlives the session. Each route that changes something is either in this list or in the
 * next one.
 */
const NEED_RECENT = [
  'POST /console/channels',
  'POST /console/channels/:id/edit',
  'POST /console/connections',
  'POST /console/connections/:id/edit',
  'POST /console/me/passkeys',
  'POST /console/me/passkeys/options',
  'DELETE /console/me/passkeys/:id',
  'POST /console/me/push',
  'POST /console/me/tokens',
  'POST /console/members',
  'POST /console/members/:id',
  'POST /console/members/:id/invitation',
  'POST /console/members/:id/remove',
  'POST /console/members/:id/status',
  'POST /console/resume',
  'POST /console/webhooks',
  'POST /console/webhooks/:id/rotate-secret',
];
const NEED_NONE = [
  'POST /console',
  'POST /console/agents',
  'POST /console/agents/:id',
  'POST /console/agents/:id/delete',
  'POST /console/agents/:id/rotate-key',
  'POST /console/agents/:id/switch',
  'POST /console/audit/export',
  'POST /console/channels/:id/delete',
  'POST /console/channels/:id/deliveries/:delivery_id/redeliver',
  'POST /console/channels/:id/switch',
  'POST /console/channels/:id/test',
  'POST /console/connections/:id/delete',
  'POST /console/connections/:id/switch',
  'POST /console/connections/:id/test',
  'POST /console/deny',
  'POST /console/exports',
  'POST /console/me/email',
  'POST /console/me/email/confirmation',
  'POST /console/me/notifications',
  'POST /console/me/push/:id',
  'POST /console/me/push/:id/remove',
  'POST /console/me/sessions/:id/end',
  'POST /console/me/slack/unlink',
  'POST /console/me/tokens/:id/delete',
  'POST /console/permissions/:id',
  'POST /console/permissions/:id/decide',
  'POST /console/permissions/:id/revoke',
  'POST /console/permissions/:id/series/end',
  'POST /console/permissions/:id/skip',
  'POST /console/permissions/:id/statement',
  'POST /console/policies/:id',
  'POST /console/policies/:id/delete',
  'POST /console/policies/:id/switch',
  'POST /console/policies/new',
  'POST /console/policies/sentence',
  'POST /console/reports',
  'POST /console/sign-out',
  'POST /console/stop',
  'POST /console/webhooks/:id/delete',
  'POST /console/webhooks/:id/deliveries/:delivery_id/redeliver',
  'POST /console/webhooks/:id/edit',
  'POST /console/webhooks/:id/switch',
  'POST /console/webhooks/:id/test',
];
/**
 * Their pages ask for a recent sign-in where somebody confirms: test/console/pair and
 * test/channels/slack/link.
 */
const ASK_THEMSELVES = ['POST /console/pair', 'POST /console/slack/link'];
/** These are for people who are not signed in. */
const SIGN_INS = [
  'POST /console/invitations/:secret',
  'POST /console/invitations/:secret/oidc',
  'POST /console/invitations/:secret/options',
  'POST /console/oidc/sign-in',
  'POST /console/sign-in',
  'POST /console/sign-in/options',
  'POST /console/sign-in/token',
];

const changes = [
  ...new Set(
    pages.routes
      .filter(({ method }) => !['GET', 'ALL'].includes(method))
      .map(({ method, path }) => `${method} ${path}`),
  ),
].toSorted();

const code = ({ status, body }: Json) => [status, body?.code];
const fill = (path: string) => path.replace(/:[a-z_]+/g, 'unknown');
const textOf = ({ text }: Answer) =>
  text
    .slice(text.indexOf('<main'))
    .replace(/<[^>]*>/g, '')
    .replace(/\s+/g, ' ');

it('is asked for, or not, by every route that changes something', () => {
  expect(changes).toEqual(
    [...NEED_RECENT, ...NEED_NONE, ...ASK_THEMSELVES, ...SIGN_INS].toSorted(),
  );
});

describe('a sign-in of 10 minutes ago', () => {
  let world: World;
  let account: TestAccount;
  let owner: TestMember;

  beforeAll(async () => {
    world = new World();
    await makeMember(await world.account(), 'owner');
    account = await world.account();
    owner = await makeMember(account, 'owner');
    world.advance(10 * MINUTE);
  });

  it.each(NEED_RECENT)('is too old for %s', async (route) => {
    const [method = '', path = ''] = route.split(' ');
    const answer = await owner.browser.change(
      method,
      fill(path),
      {},
      { Accept: 'application/json' },
    );
    expect(code(answer)).toEqual([401, 'unauthorized']);
    expect(answer.body.detail).toContain('You signed in more than 10 minutes ago');
  });

  it.each(NEED_NONE.filter((route) => route !== 'POST /console/sign-out'))(
    'is enough for %s',
    async (route) => {
      const [method = '', path = ''] = route.split(' ');
      const answer = await owner.browser.change(
        method,
        fill(path),
        {},
        { Accept: 'application/json' },
      );
      expect(answer.status).not.toBe(401);
    },
  );

  it('changes nothing, is said on the page, and keeps what was typed until the person signs in again', async () => {
    const fields = { email: 'grace@example.com', name: 'Grace Hopper', role: 'auditor', once: 'a' };
    const count = async () => (await account.must(200, 'GET', '/v1/members')).body.data.length;
    const before = await count();
    const { text: page } = await owner.browser.get('/console/members/new');
    const [, sender = ''] = /name="sender" value="([^"]+)"/.exec(page) ?? [];
    expect(page).toContain('You signed in more than 10 minutes ago');
    const refused = await owner.browser.submit('/console/members', { ...fields, sender });
    expect(refused.status).toBe(401);
    expect(textOf(refused)).toContain(
      'You signed in more than 10 minutes ago, so nothing was changed.',
    );
    expect(refused.text).toContain('<bdi>Grace Hopper</bdi>');
    expect(refused.text).toContain('href="/console/sign-in?recent=true"');
    expect(await count()).toBe(before);
    const hidden = Object.fromEntries(
      [
        ...refused.text
          .slice(refused.text.indexOf('<main'))
          .matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g),
      ].map(([, name = '', value = '']) => [name, value]),
    );
    await owner.browser.signIn();
    const sent = await owner.browser.submit('/console/members', {
      ...hidden,
      csrf: await owner.browser.csrf(),
    });
    expect([sent.status, await count()]).toEqual([200, before + 1]);
    expect((await owner.browser.get('/console/members/new')).text).not.toContain(
      'more than 10 minutes ago',
    );
    world.advance(10 * MINUTE);
  });

  it('keeps no secret that was typed, and leads back to its page', async () => {
    const fields = {
      kind: 'slack',
      name: 'Approvals',
      bot_token: 'xoxb-secret',
      signing_secret: 'hush',
    };
    const path = '/console/channels/new?kind=slack';
    const csrf = await owner.browser.csrf();
    const refused = await owner.browser.send('POST', '/console/channels', {
      raw: new URLSearchParams({ csrf, ...fields }).toString(),
      headers: {
        Accept: 'text/html',
        'Content-Type': 'application/x-www-form-urlencoded',
        Origin: ORIGIN,
        Referer: ORIGIN + path,
      },
    });
    expect([
      refused.status,
      refused.text.includes('xoxb-secret'),
      refused.text.includes('hush'),
    ]).toEqual([401, false, false]);
    const target = new URLSearchParams({ recent: 'true', return: path });
    expect(refused.text).toContain(
      `href="/console/sign-in?${String(target).replaceAll('&', '&amp;')}"`,
    );
  });

  it('is renewed by signing out and in again, which leads back to the page', async () => {
    const member = await makeMember(account, 'owner');
    const out = await member.browser.submit('/console/sign-out', {
      return: '/console/me',
      recent: 'true',
    });
    expect(out.headers.get('Location')).toBe('/console/sign-in?recent=true&return=%2Fconsole%2Fme');
    const page = await member.browser.get(out.headers.get('Location') ?? '');
    expect(textOf(page)).toContain('needs a sign-in within the last 10 minutes');
    expect(page.text).toContain('data-return="/console/me"');
  });

  it('is renewed with the token in a session of a user token', async () => {
    const webhook = await makeWebhook(account);
    const browser = new Browser(world);
    await browser.signInWithToken(account.token);
    const rotate = () => browser.submit(`/console/webhooks/${webhook.id}/rotate-secret`);
    expect((await rotate()).status).toBe(200);
    world.advance(10 * MINUTE);
    expect((await rotate()).status).toBe(401);
    await browser.signInWithToken(account.token);
    expect((await rotate()).status).toBe(200);
  });
});
