import { describe, expect, it } from 'vitest';
import { makeMember } from '../support/members';
import { SignInProvider } from '../support/sign-in-provider';
import { type Answer, type Json, ORIGIN, type TestAccount, World } from '../support/world';

const FORM = { Accept: 'text/html', 'Content-Type': 'application/x-www-form-urlencoded' };

/** Signs in with a user token at a deployment with this origin. */
function signIn({ world, token }: TestAccount, origin: string): Promise<Answer> {
  const raw = new URLSearchParams({ csrf: '', token }).toString();
  return world.call('POST', '/console/sign-in/token', {
    raw,
    headers: { ...FORM, Origin: origin },
  });
}

describe('the cookies of the console', () => {
  it.each(['http://localhost:8787', 'http://127.0.0.1:8787', 'http://[::1]:8787'])(
    'go without __Host- and Secure at %s, and work',
    async (origin) => {
      const world = new World({ PUBLIC_URL: origin });
      const provider = new SignInProvider(world);
      await world.account();
      const account = await world.account();
      const [set = ''] = (await signIn(account, origin)).headers.getSetCookie();
      expect(set).toMatch(
        /^countersign=css_00[0-9A-Za-z]{38}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/,
      );
      const headers = { Cookie: set.split(';')[0] ?? '' };
      const page = await world.call('GET', '/console/me', { headers });
      expect([page.status, page.text.includes('not as one of its members')]).toEqual([200, true]);
      const flow = await world.call('POST', '/console/oidc/sign-in', {
        headers: { ...FORM, Origin: origin },
      });
      expect(flow.headers.getSetCookie()[0]).toMatch(
        /^countersign-oidc=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
      );
      expect(provider.exchanges).toEqual([]);
      const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
      const out = await world.call('POST', '/console/sign-out', {
        raw: new URLSearchParams({ csrf }).toString(),
        headers: { ...FORM, ...headers, Origin: origin },
      });
      expect(out.headers.getSetCookie()).toEqual(['countersign=; Max-Age=0; Path=/']);
    },
  );

  it.each([
    'https://localhost:8787',
    'http://countersign.internal',
    'http://localhost.example.com',
    ORIGIN,
  ])('have both at %s', async (origin) => {
    const account = await new World({ PUBLIC_URL: origin }).account();
    const [set = ''] = (await signIn(account, origin)).headers.getSetCookie();
    expect(set).toMatch(/^__Host-countersign=css_.*; HttpOnly; Secure; SameSite=Lax$/);
    const headers = { Cookie: (set.split(';')[0] ?? '').replace('__Host-', '') };
    expect((await account.world.call('GET', '/console/me', { headers })).status).toBe(302);
  });

  it('are missed, with the reason, by somebody who comes from the sign-in without one', async () => {
    const world = new World();
    const load = (referer: string | null, path = '/console', headers: Json = {}) =>
      world.call('GET', path, {
        headers: { Accept: 'text/html', ...(referer && { Referer: referer }), ...headers },
      });
    for (const from of [
      '/console/sign-in',
      '/console/sign-in?return=%2Fconsole%2Fme',
      '/console/sign-in/token',
      '/console/invitations/csi_x',
    ]) {
      const page = await load(ORIGIN + from);
      expect(page.status).toBe(401);
      expect(page.text).toContain('Your browser did not send the cookie');
      expect(page.text).toContain('href="/console/sign-in"');
    }
    for (const from of [
      null,
      `${ORIGIN}/console`,
      'https://evil.example.com/console/sign-in',
      'nonsense',
    ]) {
      expect((await load(from)).status).toBe(302);
    }
    const ended = { Cookie: `__Host-countersign=css_00${'0'.repeat(38)}` };
    expect((await load(`${ORIGIN}/console/sign-in`, '/console', ended)).status).toBe(302);
    expect((await load(null, '/console/sign-in')).text).toContain(
      'href="/console" rel="noreferrer"',
    );
  });
});

describe('without a session', () => {
  const POLLS = [
    '/console?part=list',
    '/console?part=list&action=email.send',
    '/console/audit?part=list',
    '/console/exports?part=list',
    '/console/reports?part=list',
    '/console/webhooks/webhook_1/deliveries/dlv_1?part=progress',
    '/console/channels/chan_1/deliveries/dlv_1?part=progress',
  ];

  it.each(POLLS)('the poll %s gets 401, whatever it asks for', async (path) => {
    const account = await new World().account();
    const { browser } = await makeMember(account, 'owner');
    await browser.submit('/console/sign-out');
    for (const headers of [
      { 'HX-Request': 'true', Accept: 'text/html' },
      { 'HX-Request': 'true', Accept: '*/*' },
      { Accept: 'text/html' },
      {},
    ]) {
      for (const cookie of ['', `__Host-countersign=css_00${'0'.repeat(38)}`]) {
        browser.cookie = cookie;
        const answer = await browser.send('GET', path, { headers });
        expect([answer.status, answer.headers.get('Location')]).toEqual([401, null]);
      }
    }
  });

  it.each([
    '/console/csrf-token',
    '/console/audit/audit_1/entry',
    '/console/audit/audit_1/proof',
    '/console/audit/members/member_1',
  ])('the script that loads %s gets 401', async (path) => {
    const answer = await new World().call('GET', path, { headers: { Accept: 'application/json' } });
    expect([answer.status, answer.body.code]).toEqual([401, 'unauthorized']);
  });

  it('a page redirects to the sign-in', async () => {
    const world = new World();
    for (const path of ['/console', '/console/audit', '/console/exports']) {
      expect((await world.call('GET', path, { headers: { Accept: 'text/html' } })).status).toBe(
        302,
      );
    }
  });
});
