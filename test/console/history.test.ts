import { expect, it } from 'vitest';
import { readText } from '../support/html';
import { makeMember } from '../support/members';
import { approve, deny, makeReview } from '../support/reviews';
import { type Answer, World } from '../support/world';

/** The rows of a list of ended requests: the id, and the text as a person reads it. */
function rowsOf({ text }: Answer): { id: string; text: string }[] {
  return text
    .split('<li class="request"')
    .slice(1)
    .map((row) => ({
      id: /\/console\/permissions\/(perm_[0-9a-z]+)/.exec(row)?.[1] ?? '',
      text: readText(`<li${row.split('</li>')[0]}`).trim(),
    }));
}

const ids = (answer: Answer) => rowsOf(answer).map(({ id }) => id);

/** Two reviewers who decide five requests in another order than that of the requests. */
async function makeHistory() {
  const world = new World();
  const neighbour = await makeReview({ approvals: 1 }, ['approver'], { world });
  const { id: foreign } = await neighbour.agent.request({ scope: { amount: 9 } });
  await approve(neighbour, neighbour.people[0], foreign);
  const scene = await makeReview({ approvals: 2 }, ['approver', 'approver', 'auditor'], { world });
  const [ada, bea, auditor] = scene.people;
  const names = ['first', 'second', 'third', 'fourth', 'fifth'] as const;
  const asked = {} as Record<(typeof names)[number], string>;
  for (const name of names) {
    const scope = { amount: 2_000, currency: 'EUR' };
    asked[name] = (await scene.agent.request({ resource: `account:${name}`, scope })).id;
    world.advance(1_000);
  }
  const then = (answer: Answer) => {
    expect(answer.status).toBe(200);
    world.advance(1_000);
  };
  then(await approve(scene, ada, asked.third, { scope: { amount: 1_500, currency: 'EUR' } }));
  then(await approve(scene, bea, asked.fifth));
  then(await approve(scene, bea, asked.third));
  then(await approve(scene, ada, asked.first));
  then(await deny(scene, bea, asked.first));
  then(await approve(scene, ada, asked.fifth));
  then(await approve(scene, bea, asked.second));
  return { ...scene, ada, bea, auditor, asked };
}

let scene: ReturnType<typeof makeHistory> | undefined;
function history() {
  scene ??= makeHistory();
  return scene;
}

it('lists what the reader decided or voted on, in that order, with the granted amount and all voters', async () => {
  const { ada, bea, asked } = await history();
  const page = await bea.browser.get('/console?decided_by=me');
  expect([page.status, page.cost.trips]).toEqual([200, 2]);
  expect(ids(page)).toEqual([asked.second, asked.first, asked.third, asked.fifth]);
  const [second, first, third, fifth] = rowsOf(page).map(({ text }) => text);
  const name = /\S+@example\.com/.source;
  expect(second).toMatch(new RegExp(`^2,000 EUR · account:second .*pending approved by ${name}, `));
  expect(first).toMatch(new RegExp(`denied by ${name}, approved by ${name}, `));
  expect(third).toMatch(new RegExp(`^1,500 EUR · account:third .*by ${name} and ${name}, `));
  expect(fifth).toMatch(new RegExp(`by ${name} and ${name}, `));
  expect(page.text).toContain('<title>Inbox: decided by you');
  const adas = await ada.browser.get('/console?decided_by=me');
  expect(ids(adas)).toEqual([asked.fifth, asked.first, asked.third]);
});

it('shows when the reader voted, and who else did, while a request waits', async () => {
  const { bea, asked, account } = await history();
  const [row] = rowsOf(await bea.browser.get('/console?decided_by=me'));
  const { body } = await account.must(200, 'GET', `/v1/permissions/${asked.second}`);
  const [vote] = body.review.votes;
  expect(row?.text).toContain(`${vote.at.slice(0, 10)} ${vote.at.slice(11, 16)} UTC`);
});

it('has the lists of decided requests in the order of the decisions, and names all who decided', async () => {
  const { auditor, asked } = await history();
  const approved = await auditor.browser.get('/console?status=approved');
  expect(ids(approved)).toEqual([asked.fifth, asked.third]);
  const two = /by \S+@example\.com and \S+@example\.com, 20/;
  for (const { text } of rowsOf(approved)) expect(text).toMatch(two);
  const [denied] = rowsOf(await auditor.browser.get('/console?status=denied'));
  expect(denied?.text).toMatch(/denied by \S+@example\.com, approved by \S+@example\.com, 20/);
});

it('has the acts with an unknown outcome in the order of their decisions', async () => {
  const world = new World();
  const account = await world.account();
  const agent = await account.agent();
  const { browser } = await makeMember(account, 'approver');
  const asked: string[] = [];
  for (let i = 0; i < 3; i++) asked.push((await agent.request({ reports_outcome: true })).id);
  const [first, second, third] = asked as [string, string, string];
  for (const id of [second, third, first]) {
    world.advance(1_000);
    await account.must(200, 'POST', `/v1/permissions/${id}/approve`);
    const { token } = (await agent.must(200, 'GET', `/v1/permissions/${id}`)).body;
    await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
    await agent.must(200, 'POST', `/v1/permissions/${id}/outcome`, { status: 'unknown' });
  }
  const page = await browser.get('/console?outcome=unknown');
  expect(ids(page)).toEqual([first, third, second]);
  expect(rowsOf(page)[0]?.text).toContain('Approved by a token of the account, ');
});

it('offers the list to members who may decide, and shows it of nobody else', async () => {
  const { ada, auditor, account } = await history();
  const tab = 'href="/console?decided_by=me"';
  expect((await ada.browser.get('/console')).text).toContain(tab);
  const other = await auditor.browser.get('/console?decided_by=me');
  expect(other.text).not.toContain(tab);
  expect(readText(other.text)).toContain('You have decided no request yet.');
  // A user token of the account belongs to nobody.
  const { browser } = await makeMember(account, 'owner');
  await browser.signInWithToken(account.token);
  const nobody = await browser.get('/console?decided_by=me');
  expect([nobody.status, nobody.text.includes(tab)]).toEqual([200, false]);
  expect(readText(nobody.text)).toContain('Nothing waits for you.');
  // Neither the filter nor the pages leave the list.
  const agents = [await account.agent({ name: 'B' }), await account.agent({ name: 'C' })];
  expect((await ada.browser.get('/console?decided_by=me')).text).toContain(
    `/console?decided_by=me&amp;agent_id=${agents[0]?.id}`,
  );
  const filtered = await ada.browser.get(`/console?decided_by=me&agent_id=${agents[0]?.id}`);
  expect(readText(filtered.text)).toContain('You have decided no request of this agent yet.');
});
