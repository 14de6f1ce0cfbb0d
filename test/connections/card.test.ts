import { expect, it } from 'vitest';
import { callUpstream, codeOf, makeConnectionScene, UPSTREAM } from '../support/connection-calls';
import { readText } from '../support/html';
import { makeMember } from '../support/members';

it('the card of a call says that Countersign sends it, and narrows only the time to act', async () => {
  const { account, agent, connection } = await makeConnectionScene({ wait: 0 });
  const member = await makeMember(account, 'approver');
  const { body: pending } = await callUpstream(agent, connection);
  await agent.request();
  const path = `/console/permissions/${pending.permission_id}`;
  const page = await member.browser.get(path);
  const text = readText(page.text);
  for (const part of [
    `To be sent: POST ${UPSTREAM}/v1/payouts`,
    'Countersign sends this request itself through a connection',
    'What Countersign will send',
    'Shorten the time to act',
  ])
    expect(text).toContain(part);
  expect(page.text).not.toContain('name="max_uses"');
  expect(page.text).not.toContain('name="limit-0"');
  expect(page.text).not.toContain('Agent says');
  await account.must(200, 'POST', `/v1/permissions/${pending.permission_id}/approve`, {});
  expect((await callUpstream(agent, connection)).status).toBe(200);
  const sent = readText((await member.browser.get(path)).text);
  expect(sent).toContain('The other service answered that it was done.');
  expect(sent).toContain('The other service answered 200.');
});

it('what an approver narrows all the same is refused, and nothing is written', async () => {
  const { account, agent, connection } = await makeConnectionScene({ wait: 0 });
  const { body: pending } = await callUpstream(agent, connection);
  const path = `/v1/permissions/${pending.permission_id}`;
  const refused = await account.call('POST', `${path}/approve`, { scope: { amount: 1 } });
  expect(codeOf(refused)).toEqual([400, 'invalid_request']);
  expect((await account.must(200, 'GET', path)).body.status).toBe('pending');
});
