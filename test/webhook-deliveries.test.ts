import { expect, it } from 'vitest';
import { listDeliveries, makeWebhook, readDelivery, verify } from './support/webhooks';
import { World } from './support/world';

it('sends each new entry, signed', async () => {
  const world = new World();
  const account = await world.account();
  const agent = await account.agent();
  await agent.request();
  const webhook = await makeWebhook(account);
  const { id } = await agent.request();
  await account.must(200, 'POST', `/v1/permissions/${id}/approve`, { reason: 'Fine' });
  await world.deliver();
  const messages = world.internet.sentTo(webhook.host).map((received) => verify(webhook.secret, received, world.now));
  const [, ...entries] = await account.log();
  expect(messages).toEqual(
    entries.map(({ id, event_type, agent_id, permission_request_id, details, created_at }) => ({
      event: 'audit.created',
      timestamp: created_at,
      data: { id, event_type, agent_id, permission_request_id, details },
    })),
  );
  const deliveries = await listDeliveries(account, webhook);
  expect(deliveries.map(({ status, attempts }) => [status, attempts])).toEqual([
    ['succeeded', 1],
    ['succeeded', 1],
  ]);
  console.log(JSON.stringify(await readDelivery(account, webhook, deliveries[0].id)));
});
