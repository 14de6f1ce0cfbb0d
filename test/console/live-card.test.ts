import { describe, expect, it } from 'vitest';
import { readText } from '../support/html';
import { makeMember } from '../support/members';
import { World } from '../support/world';

/** A request that two people have to approve, beside an account with one of its own. */
async function makeScene() {
  const world = new World();
  const neighbour = await world.account();
  const stranger = await makeMember(neighbour, 'owner');
  await (await neighbour.agent()).request();
  const account = await world.account();
  const agent = await account.agent();
  const [ada, ben] = [await makeMember(account, 'approver'), await makeMember(account, 'approver')];
  await account.must(201, 'POST', '/v1/policies', {
    ...{ name: 'Two', effect: 'review', actions: ['*'], resources: ['*'] },
    review: { approvals: 2 },
  });
  world.advance(1_000);
  const { id } = await agent.request();
  const card = await ada.browser.get(`/console/permissions/${id}`);
  const source = sourceOf(card.text) ?? '';
  /** What the open card says when it looks again, and whether it goes on looking. */
  const look = async () => {
    const { status, text, cost } = await ada.browser.send('GET', source, {
      headers: { 'HX-Request': 'true' },
    });
    return {
      status,
      says: readText(text).trim(),
      goesOn: sourceOf(text) !== null,
      trips: cost.trips,
    };
  };
  const vote = (token: string) =>
    world.must(200, 'POST', `/v1/permissions/${id}/approve`, { token, body: {} });
  return { world, account, agent, id, ada, ben, stranger, source, look, vote };
}

/** From where a card learns of changes. */
function sourceOf(text: string): string | null {
  return /hx-get="([^"]*\/state[^"]*)"/.exec(text)?.[1] ?? null;
}

describe('an open card', () => {
  it('says that somebody voted, and that the request was decided', async () => {
    const { world, ada, ben, id, look, vote } = await makeScene();
    expect(await look()).toEqual({ status: 200, says: '', goesOn: true, trips: 1 });
    await vote(ben.token);
    const voted = await look();
    expect(voted).toMatchObject({ goesOn: true, trips: 1 });
    expect(voted.says).toContain('Somebody has voted since you opened this page.');
    await world.must(200, 'POST', `/v1/permissions/${id}/deny`, { token: ben.token, body: {} });
    const denied = await look();
    expect(denied.says).toContain('This request was denied since you opened this page.');
    expect(denied.goesOn).toBe(false);
    expect(sourceOf((await ada.browser.get(`/console/permissions/${id}`)).text)).toBeNull();
  });

  it('says that the request has expired', async () => {
    const { world, look } = await makeScene();
    world.advance(3_600_001);
    expect((await look()).says).toContain('it can no longer be decided');
  });

  it('says nothing to other accounts', async () => {
    const { stranger, source } = await makeScene();
    expect((await stranger.browser.get(source)).status).toBe(404);
  });
});
