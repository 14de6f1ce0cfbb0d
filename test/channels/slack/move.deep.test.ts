import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
import { makeMember } from '../../support/members';
import { orderHeldMove, orderMove, settleMoves } from '../../support/moves';
import { World } from '../../support/world';
import {
  linkInSlack,
  makeSlackScene,
  openModal,
  requestInSlack,
  sendFromSlack,
  submitModal,
  textsOf,
} from './scene';

it('a moved account keeps the address of its channel, its secrets, and the links of Slack users', async () => {
  const world = new World();
  const scene = await makeSlackScene({}, world);
  const { slack, account, path, channel } = scene;
  const ada = await makeMember(account, 'approver', 'ada@example.com');
  await linkInSlack(scene, ada);
  const { permission, message } = await requestInSlack(scene);
  Object.assign(world.env, { DB_01: env.DB_01 });
  await orderMove(world, account.id, '01');
  await settleMoves(world);
  expect(await env.DB.prepare('select count(*) as n from slack_links').first('n')).toBe(0);
  expect((await account.must(200, 'GET', path)).body).toEqual(channel);
  const view = await openModal(scene, message);
  expect(await submitModal(scene, view, { decision: 'approve' })).toBeNull();
  const { body } = await account.must(200, 'GET', `/v1/permissions/${permission.id}`);
  expect(body).toMatchObject({ status: 'approved', decided_by: ada.id });
  await world.deliver();
  expect(textsOf(message)).toContain('Permission approved');
  const again = await requestInSlack(scene);
  expect(await openModal(scene, again.message)).toBeDefined();
  expect(slack.messages).toHaveLength(2);
});

it('takes no decisions while the account is on hold', async () => {
  const world = new World();
  const scene = await makeSlackScene({}, world);
  Object.assign(world.env, { DB_01: env.DB_01 });
  const { slack, account } = scene;
  const ada = await makeMember(account, 'approver', 'ada@example.com');
  await linkInSlack(scene, ada);
  const { message } = await requestInSlack(scene);
  const body = slack.submit(await openModal(scene, message), { decision: 'approve' });
  await orderHeldMove(world, account.id, '01');
  const refused = await sendFromSlack(scene, body);
  expect(refused.body.response_action).toBe('errors');
  expect(JSON.stringify(refused.body.errors)).toContain('moving to another database');
  await settleMoves(world);
  expect((await sendFromSlack(scene, body)).body).toEqual({ response_action: 'clear' });
});
