import { beforeAll, describe, expect, it } from 'vitest';
import { Browser } from '../support/browser';
import { makeMember, type TestMember } from '../support/members';
import { type Answer, type Json, type TestAccount, type TestAgent, World } from '../support/world';

const MINUTE = 60_000;
const ROLES = ['owner', 'admin', 'approver', 'developer', 'auditor'] as const;
/** Pages that everybody may see. */
const PAGES = [
  '/console',
  '/console/agents',
  '/console/me',
  '/console/policies',
  '/console/permissions/unknown',
];
const BUTTON = 'href="/console/stop">Stop all agents';

const textOf = (text: string) =>
  text
    .replace(/<head>[\s\S]*<\/head>/, '')
    .replace(/<[^>]*>/g, '')
    .replace(/\s+/g, ' ');
/** Loads a page as a browser does: a refusal is a page too. */
const load = (browser: Browser, path: string) =>
  browser.send('GET', path, { headers: { Accept: 'text/html' } });
const banner = ({ text }: Answer) =>
  textOf(/<section class="stopped"[\s\S]*?<\/section>/.exec(text)?.[0] ?? '');

describe('the console', () => {
  let world: World;
  let neighbour: TestMember;
  let account: TestAccount;
  let agent: TestAgent;
  let people: Record<(typeof ROLES)[number], TestMember>;

  const stopped = async (): Promise<Json> =>
    (await account.must(200, 'GET', '/v1/me')).body.stopped;

  beforeAll(async () => {
    world = new World();
    const first = await world.account();
    await (await first.agent()).approved();
    neighbour = await makeMember(first, 'owner');
    account = await world.account();
    agent = await account.agent();
    const made: Json = {};
    for (const role of ROLES)
      made[role] = await makeMember(account, role, `${role}@people.example.com`);
    people = made;
  });

  it('has the button on every page of who may stop, and on none of others', async () => {
    for (const role of ROLES) {
      for (const path of PAGES) {
        const { text } = await load(people[role].browser, path);
        const mayStop = !['developer', 'auditor'].includes(role);
        expect([role, path, text.includes(BUTTON)]).toEqual([role, path, mayStop]);
      }
    }
    expect((await new Browser(world).get('/console/sign-in')).text).not.toContain(BUTTON);
    for (const role of ['developer', 'auditor'] as const) {
      const { browser } = people[role];
      expect((await browser.get('/console/stop')).status).toBe(403);
      expect((await browser.submit('/console/stop', { reason: 'x' })).status).toBe(403);
    }
    expect(await stopped()).toBeNull();
  });

  it('stops after one confirmation, without JavaScript, and keeps what was typed', async () => {
    const { browser } = people.approver;
    const page = await browser.get('/console/stop');
    expect(page.text).toContain('Stop all agents?');
    expect(page.text).toContain('action="/console/stop"');
    const refused = await browser.submit('/console/stop', { reason: 'x'.repeat(1_001) });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('x'.repeat(1_001));
    expect(await stopped()).toBeNull();
    const sent = await browser.submit('/console/stop', { reason: 'The bot\r\nmails <b>all</b>' });
    expect([sent.status, sent.headers.get('Location')]).toEqual([303, '/console/stop']);
    expect(await stopped()).toMatchObject({
      by: people.approver.id,
      reason: 'The bot\nmails <b>all</b>',
    });
  });

  it('shows everybody who stopped, when and why, on every page', async () => {
    for (const role of ROLES) {
      for (const path of PAGES) {
        const answer = await load(people[role].browser, path);
        const shown = banner(answer);
        expect(shown).toContain('All agents are stopped since 2026-01-31 12:00 UTC');
        expect(shown).toContain('by approver@people.example.com: The bot');
        expect(shown).toContain(['owner', 'admin'].includes(role) ? 'Resume' : 'Details');
        expect(answer.text).not.toContain('<b>all</b>');
        expect(answer.text).not.toContain(BUTTON);
      }
    }
    const other = await neighbour.browser.get('/console');
    expect(banner(other)).toBe('');
    expect(other.text).toContain(BUTTON);
  });

  it('offers no approval, refuses one that is sent, and lets people deny', async () => {
    await account.must(200, 'POST', '/v1/me/resume');
    const { id } = await agent.request();
    const { browser } = people.approver;
    expect((await browser.get(`/console/permissions/${id}`)).text).toContain('value="approve"');
    await account.must(200, 'POST', '/v1/me/stop', { reason: 'A drill' });
    const { text } = await browser.get(`/console/permissions/${id}`);
    expect(text).not.toContain('value="approve"');
    expect(textOf(text)).toContain('All agents are stopped, so nothing can be approved.');
    const path = `/console/permissions/${id}/decide`;
    const refused = await browser.submit(path, { decision: 'approve', votes: '0' });
    expect(refused.status).toBe(403);
    expect(textOf(refused.text)).toContain('The account is stopped');
    expect((await browser.submit(path, { decision: 'deny', votes: '0' })).status).toBe(303);
    const shown = banner(await browser.get('/console'));
    expect(shown).toContain('by a token of the account: A drill');
  });

  it('resumes for owners and admins with a recent sign-in', async () => {
    const { browser } = people.approver;
    const details = await browser.get('/console/stop');
    expect(details.text).not.toContain('/console/resume');
    expect(textOf(details.text)).toContain('Somebody with the role owner or admin can resume.');
    expect((await browser.submit('/console/resume')).status).toBe(403);
    const owner = people.owner.browser;
    world.advance(10 * MINUTE);
    expect((await owner.get('/console/stop')).text).toContain(
      'You signed in more than 10 minutes ago',
    );
    expect((await owner.submit('/console/resume')).status).toBe(401);
    expect(await stopped()).not.toBeNull();
    // The stop itself asks for no recent sign-in.
    expect((await owner.submit('/console/stop', { reason: '' })).status).toBe(303);
    await owner.signIn();
    const page = await owner.get('/console/stop');
    expect(page.text).toContain('action="/console/resume"');
    const sent = await owner.submit('/console/resume');
    expect([sent.status, sent.headers.get('Location')]).toEqual([303, '/console']);
    expect(await stopped()).toBeNull();
    const { data } = (await account.must(200, 'GET', '/v1/activity?action=account.resumed')).body;
    expect(data[0].actor).toBe(people.owner.id);
    expect(banner(await owner.get('/console'))).toBe('');
    expect(textOf((await owner.get('/console/activity')).text)).toContain('resumed the account');
  });
});
