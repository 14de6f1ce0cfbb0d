import { describe, expect, it } from 'vitest';
import { Browser } from '../support/browser';
import { depth } from '../support/depth';
import { makeMember, type TestMember } from '../support/members';
import { type Json, type TestAccount, World } from '../support/world';

const PAGES = ['/console', '/console/agents', '/console/audit', '/console/me', '/console/activity'];

/** An account with an approver, beside one in which other requests wait. */
async function makeScene() {
  const world = new World();
  const neighbour = await world.account();
  const busy = await neighbour.agent();
  for (let i = 0; i < 4; i++) await busy.request();
  const account = await world.account();
  return {
    world,
    account,
    agent: await account.agent(),
    ada: await makeMember(account, 'approver'),
  };
}

/** What the menu says beside Inbox; null if it says nothing. */
async function countOf({ browser }: Pick<TestMember, 'browser'>, path = '/console/agents') {
  const { text } = await browser.get(path);
  const [, hidden, count] =
    /<span class="count"( hidden[^>]*)?><span data-waiting-count[^>]*>([^<]*)</.exec(text) ?? [];
  return hidden === undefined ? count : null;
}

const review = (account: TestAccount, action: string, rule: Json) =>
  account.must(201, 'POST', '/v1/policies', {
    ...{ name: action, effect: 'review', actions: [action], resources: ['*'], review: rule },
  });

describe('the count beside Inbox', () => {
  it('is asked for by pages that notify', async () => {
    const { account, agent, ada } = await makeScene();
    const auditor = await makeMember(account, 'auditor');
    const send = ({ browser }: Pick<TestMember, 'browser'>) =>
      browser.send('GET', '/console/waiting', { headers: { Accept: 'application/json' } });
    const ask = async (member: TestMember) => JSON.parse((await send(member)).text).waiting;
    expect(await ask(ada)).toBeNull();
    await agent.request();
    await agent.request();
    expect([await ask(ada), await ask(auditor)]).toEqual(['2', null]);
    expect((await send(ada)).cost.trips).toBe(1);
    expect((await send({ browser: new Browser(account.world) })).status).toBe(401);
  });

  it('is on every page what waits for the reader, at no additional round trip', async () => {
    const { world, account, agent, ada } = await makeScene();
    const ben = await makeMember(account, 'approver');
    const reader = await makeMember(account, 'auditor');
    await review(account, 'mail.send', { members: [ben.id] });
    await review(account, 'file.delete', { approvals: 2 });
    expect(await countOf(ada)).toBeNull();
    world.advance(1_000);
    await agent.request();
    await agent.request({ action: 'mail.send' });
    const { id } = await agent.request({ action: 'file.delete' });
    const token = ada.token;
    const counts = [await countOf(ada), await countOf(ben), await countOf(reader)];
    await world.must(200, 'POST', `/v1/permissions/${id}/approve`, { token, body: {} });
    expect([...counts, await countOf(ada), await countOf(ben)]).toEqual(['2', '3', null, '1', '3']);
    for (const path of PAGES) {
      const { cost } = await ada.browser.get(path);
      expect([path, await countOf(ada, path), cost.trips <= 2]).toEqual([path, '1', true]);
    }
    world.advance(86_400_000);
    await ada.browser.signIn();
    expect(await countOf(ada)).toBeNull();
  });

  it('is what waits for a token of the account, and nothing for one that may not decide', async () => {
    const { world, account, agent } = await makeScene();
    await review(account, 'mail.send', {});
    await agent.request();
    await agent.request({ action: 'mail.send' });
    const browser = new Browser(world);
    await browser.signInWithToken(account.token);
    expect(await countOf({ browser })).toBe('1');
    await browser.signInWithToken(await account.limitedToken('permissions:read', 'agents:read'));
    expect(await countOf({ browser })).toBeNull();
  });

  it('is 99+ at most, and reads at most 300 rows', async () => {
    const { account, agent, ada } = await makeScene();
    const rowsOf = async () => (await ada.browser.get('/console/agents')).cost.read;
    const none = await rowsOf();
    await review(account, '*', {});
    for (let i = 0; i < 98; i++) await agent.request();
    expect(await countOf(ada)).toBe('98');
    for (let i = 0; i < 20; i++) await agent.request();
    expect(await countOf(ada)).toBe('99+');
    expect((await rowsOf()) - none).toBeLessThanOrEqual(300);
  });

  it.runIf(depth.isDeep)('has a plus sign if only a part of what waits was examined', async () => {
    const { account, agent, ada } = await makeScene();
    const ben = await makeMember(account, 'approver');
    await review(account, 'mail.send', { members: [ben.id] });
    for (let i = 0; i < 3; i++) await agent.request({ expires_in: 600 });
    for (let i = 0; i < 98; i++) await agent.request({ action: 'mail.send', expires_in: 900 });
    expect([await countOf(ada), await countOf(ben)]).toEqual(['3+', '99+']);
  });
});
