import { describe, expect, it } from 'vitest';
import { readText } from '../support/html';
import { makeMember } from '../support/members';
import { approve, makeReview, type People } from '../support/reviews';
import { World } from '../support/world';

/** The line below the heading that says what was just done; undefined if the page has none. */
function flashOf(html: string): string | undefined {
  const [, strip] = /<div class="flash"[^>]*>(.*?)<\/div>/s.exec(html) ?? [];
  return strip && readText(strip).trim();
}

/** Three named reviewers of whom two must approve, in an account that is not the first. */
async function openReviewed() {
  const world = new World();
  const earlier = await world.account();
  await (await earlier.agent()).request();
  const scene = await makeReview(
    (people: People) => ({ approvals: 2, members: people.map(({ id }) => id), roles: null }),
    ['approver', 'approver', 'approver'],
    { world },
  );
  const { id } = await scene.agent.request();
  return { ...scene, id, path: `/console/permissions/${id}` };
}

describe('after a decision, the page of the request says below its heading', () => {
  it('how many approvals it has, whom it waits for, and where the next request is', async () => {
    const { agent, people, path } = await openReviewed();
    const next = await agent.request({ expires_in: 7_200 });
    const [first] = people;
    await first.browser.submit(`${path}/decide`, { decision: 'approve', votes: '0' });
    const { text } = await first.browser.get(path);
    expect(readText(text)).toContain('Your approval was taken, 1 of 2. Waiting for ');
    expect(text).toContain(`href="/console/permissions/${next.id}" data-next`);
    expect(text).toContain('Back to the inbox (1)');
  });

  it('until when the agent may do it, with a button that revokes it', async () => {
    const { people, path, id, ...scene } = await openReviewed();
    const [first, second] = people;
    await approve(scene, first, id);
    await second.browser.submit(`${path}/decide`, { decision: 'approve', votes: '1' });
    const { text } = await second.browser.get(path);
    expect(readText(text)).toContain(
      'Your approval was taken, 2 of 2. The agent may do it once, until ',
    );
    expect((await second.browser.submit(`${path}/revoke`)).status).toBe(303);
    expect(readText((await second.browser.get(path)).text)).toContain(
      'The token was revoked: the agent can no longer use it.',
    );
  });

  it('that the approval was taken, also if somebody denies before the page is loaded', async () => {
    const { people, path } = await openReviewed();
    const [first, second] = people;
    await first.browser.submit(`${path}/decide`, { decision: 'approve', votes: '0' });
    await second.browser.submit(`${path}/decide`, { decision: 'deny' });
    expect(flashOf((await first.browser.get(path)).text)).toContain(
      'Your approval was taken, 1 of 2. It has been denied meanwhile.',
    );
  });

  it('that a denial was taken', async () => {
    const { people, path } = await openReviewed();
    await people[0].browser.submit(`${path}/decide`, { decision: 'deny' });
    expect(readText((await people[0].browser.get(path)).text)).toContain(
      'Your denial was taken. The agent may not do it.',
    );
  });
});

describe('what was done', () => {
  it('is said once, by the page that follows, and to nobody else', async () => {
    const { account, people, path } = await openReviewed();
    const { browser } = people[0];
    await browser.submit(`${path}/decide`, { decision: 'deny' });
    expect(flashOf((await browser.get('/console?part=list')).text)).toBeUndefined();
    expect(flashOf((await browser.get('/console/me')).text)).toBeUndefined();
    expect(flashOf((await people[1].browser.get(path)).text)).toBeUndefined();
    expect(flashOf((await browser.get(path)).text)).toContain('Your denial was taken');
    expect(flashOf((await browser.get(path)).text)).toBeUndefined();
    const admin = await makeMember(account, 'admin', 'admin@example.com');
    expect(flashOf((await admin.browser.get(path)).text)).toBeUndefined();
  });

  it('is not said of a form that was refused', async () => {
    const { people, path } = await openReviewed();
    const { browser } = people[0];
    await browser.submit(`${path}/decide`, { decision: 'deny' });
    await browser.get(path);
    expect((await browser.submit(`${path}/decide`, { decision: 'approve' })).status).toBe(409);
    expect(flashOf((await browser.get(path)).text)).toBeUndefined();
  });

  it('is said of requests that were denied together, and of what was saved', async () => {
    const { account, agent, people, id } = await openReviewed();
    const second = await agent.request();
    const { browser } = people[0];
    await browser.submit('/console/deny', { id: [id, second.id], from: '/console' });
    expect(flashOf((await browser.get('/console')).text)).toBe('2 requests denied.');
    const admin = await makeMember(account, 'admin', 'admin@example.com');
    await admin.browser.submit(`/console/agents/${agent.id}/switch`, { is_active: 'false' });
    expect(flashOf((await admin.browser.get(`/console/agents/${agent.id}`)).text)).toBe('Saved.');
  });
});
