import { describe, expect, it } from 'vitest';
import { guideOf } from '../../src/console/frame/guide-link';
import { pages } from '../../src/console/pages';
import { readLinks, readText } from '../support/html';
import { makeMember } from '../support/members';
import { World } from '../support/world';

const CHECKLIST = /Set up the account: (\d) of 5 done/;

/** An account with an owner, after one of others that has everything. */
async function open() {
  const world = new World();
  const other = await world.account();
  await makeMember(other, 'approver');
  await other.agent();
  const account = await world.account({ name: 'Example Ltd' });
  const owner = await makeMember(account, 'owner');
  const { body } = await account.must(200, 'GET', '/v1/members?status=invited');
  for (const { id } of body.data) {
    await world.must(204, 'DELETE', `/v1/members/${id}`, { token: owner.token });
  }
  return { world, account, ...owner };
}

describe('the checklist of an owner', () => {
  it('names what is left to do, until all is done, and costs no further trip', async () => {
    const { account, browser } = await open();
    const page = await browser.get('/console');
    const done = async () => CHECKLIST.exec(readText((await browser.get('/console')).text))?.[1];
    expect([page.cost.trips, await done()]).toEqual([2, '0']);
    for (const path of [
      '/console/agents/new',
      '/console/me#passkeys-title',
      '/console/members/new',
      '/console/channels/new',
      '/console/policies/new',
    ]) {
      expect(readLinks(page.text)).toContain(path);
    }
    const agent = await account.agent();
    expect(await done()).toBe('1');
    expect(readText((await browser.get('/console')).text)).toContain('Register an agent: done');
    await account.must(201, 'POST', '/v1/members', { email: 'a@example.com', role: 'auditor' });
    expect(await done()).toBe('1');
    await account.must(201, 'POST', '/v1/members', { email: 'b@example.com', role: 'approver' });
    expect(await done()).toBe('2');
    const isOpen = async () => (await browser.get('/console')).text.includes('checklist" open');
    expect(await isOpen()).toBe(true);
    await agent.request();
    expect([await isOpen(), await done()]).toEqual([false, '2']);
    await account.must(201, 'POST', '/v1/channels', {
      kind: 'email',
      name: 'Mail',
      events: ['permission.requested'],
    });
    await account.must(201, 'POST', '/v1/policies', {
      name: 'None',
      effect: 'deny',
      actions: ['*'],
      resources: ['*'],
    });
    expect(await done()).toBe('4');
    const { body: options } = await browser.change('POST', '/console/me/passkeys/options');
    const response = await browser.authenticator.create(options);
    await browser.change('POST', '/console/me/passkeys', { name: 'Phone', response });
    expect(await done()).toBe(undefined);
  });

  it('is for owners who sign in as themselves, in the list of what waits for them', async () => {
    const { account, browser } = await open();
    const admin = await makeMember(account, 'admin');
    const has = async (own: typeof browser, path: string) =>
      CHECKLIST.test(readText((await own.get(path)).text));
    expect([
      await has(browser, '/console'),
      await has(browser, '/console?for=others'),
      await has(browser, '/console?status=denied'),
      await has(browser, '/console?part=list'),
      await has(admin.browser, '/console'),
    ]).toEqual([true, false, false, false, false]);
    await browser.signInWithToken(await browser.makeToken());
    const page = await browser.get('/console');
    expect([page.status, CHECKLIST.test(readText(page.text))]).toEqual([200, false]);
  });
});

it('every page of the console links to a guide, and to a section that the guide has', async () => {
  const { account, browser } = await open();
  const { text } = await browser.get('/console/policies/new');
  expect(readLinks(text)).toContain('/docs/guides/policies');
  const paths = pages.routes.filter(({ method }) => method === 'GET').map(({ path }) => path);
  const withoutPage = ['/console/assets/:file', '/console/csrf-token'];
  for (const path of new Set(paths)) {
    if (withoutPage.includes(path)) continue;
    const [guide, anchor] = (guideOf(path) ?? '').split('#');
    const page = await account.world.call('GET', `/docs/guides/${guide}`);
    expect([path, page.status]).toEqual([path, 200]);
    if (anchor) expect([path, page.text.includes(` id="${anchor}"`)]).toEqual([path, true]);
  }
});
