import { expect, it } from 'vitest';
import { readLinks, readText } from '../support/html';
import { makeMember } from '../support/members';
import { makeOutcomeScene, REPORT_PERIOD, report, usePromised } from '../support/outcomes';

async function open(role = 'approver') {
  const scene = await makeOutcomeScene();
  return { ...scene, member: await makeMember(scene.account, role) };
}

it('the card of a request shows its outcome as the word of the program', async () => {
  const { world, agent, member } = await open();
  const { id } = await usePromised(agent);
  const card = async () => readText((await member.browser.get(`/console/permissions/${id}`)).text);
  expect(await card()).toContain('outcome awaited');
  world.advance(REPORT_PERIOD);
  const unknown = await card();
  expect(unknown).toContain('outcome unknown');
  expect(unknown).toContain('No report came.');
  await report(agent, id, { status: 'failed', summary: '<b>Bounced</b> \u202e' });
  const page = await member.browser.get(`/console/permissions/${id}`);
  expect(page.text).not.toContain('<b>Bounced');
  const failed = readText(page.text);
  for (const part of [
    'reported as failed',
    'The program’s own word: nobody has checked it, and it is not in the log',
    '<b>Bounced</b> U+202E',
    'Part of the act may have happened',
  ])
    expect(failed).toContain(part);
  expect(page.cost.trips).toBeLessThanOrEqual(2);
});

it('the card of a request that promised nothing says nothing of an outcome', async () => {
  const { agent, member } = await open();
  const { id, token } = await agent.approved();
  await agent.must(200, 'POST', '/v1/tokens/use', { token: token.value });
  const page = await member.browser.get(`/console/permissions/${id}`);
  expect(readText(page.text)).not.toContain('What happened then');
});

it('the inbox has a tab of the acts whose outcome is unknown, reported so or not', async () => {
  const { world, account, agent, member } = await open('auditor');
  const second = await account.agent({ name: 'Second' });
  const empty = await member.browser.get('/console?outcome=unknown');
  expect(readText(empty.text)).toContain('No outcome is unknown.');
  const told = await usePromised(agent, { preview: { title: 'Pay invoice 118' } });
  await report(agent, told.id, { status: 'unknown', summary: 'The bank did not answer' });
  const silent = await usePromised(second);
  const done = await usePromised(agent);
  await report(agent, done.id);
  world.advance(REPORT_PERIOD);
  const page = await member.browser.get('/console?outcome=unknown');
  const links = readLinks(page.text).filter((link) => link.startsWith('/console/permissions/'));
  expect(links).toEqual([silent, told].map(({ id }) => `/console/permissions/${id}`));
  const text = readText(page.text);
  expect(text).toContain('Agent says: Pay invoice 118');
  expect(text).toContain('The program says: “The bank did not answer”');
  expect(page.cost.trips).toBeLessThanOrEqual(2);
  expect(readLinks(page.text)).toContain('/console?status=approved');
  const one = await member.browser.get(`/console?outcome=unknown&agent_id=${second.id}`);
  expect(readLinks(one.text).filter((link) => link.startsWith('/console/perm'))).toEqual([
    `/console/permissions/${silent.id}`,
  ]);
  expect(readLinks((await member.browser.get('/console')).text)).toContain(
    '/console?outcome=unknown',
  );
});
