import { expect, it } from 'vitest';
import { startExport } from '../support/exports';
import { startReport } from '../support/reports';
import { listDeliveries, makeWebhook, readDelivery } from '../support/webhooks';
import { World } from '../support/world';

/** By scope, the events whose payload a token with `webhooks:read` and that scope can see. */
const SHOWN: Record<string, string[]> = {
  'webhooks:read': ['webhook.test'],
  'audit:read': ['audit.created', 'webhook.test'],
  'audit:export': [
    ...['audit.export.completed', 'audit.export.failed', 'report.completed', 'report.failed'],
    'webhook.test',
  ],
};

it('a payload is shown only to a token with a scope to read the same data', async () => {
  const world = new World();
  const account = await world.account({ plan: 'enterprise' });
  const [agent, leaving] = [await account.agent(), await account.agent()];
  const webhook = await makeWebhook(account);
  await agent.request();
  for (const start of [startExport, startReport]) await start(account);
  await world.work();
  for (const start of [startExport, startReport]) await start(account);
  await account.must(204, 'DELETE', `/v1/agents/${leaving.id}`);
  await account.must(202, 'POST', `/v1/webhooks/${webhook.id}/test`);
  await world.deliver();
  await world.deliver();
  const deliveries = await listDeliveries(account, webhook);
  expect(new Set(deliveries.map(({ event }) => event)).size).toBe(6);
  for (const [scope, events] of Object.entries(SHOWN)) {
    const token = await account.limitedToken('webhooks:read', scope);
    const shown: string[] = [];
    for (const { id, event } of deliveries) {
      const path = `/v1/webhooks/${webhook.id}/deliveries/${id}`;
      const { body } = await world.must(200, 'GET', path, { token });
      const { payload, ...others } = await readDelivery(account, webhook, id);
      expect(payload).toMatchObject({ event });
      expect(body).toEqual({ ...others, payload: body.payload && payload });
      if (body.payload) shown.push(event);
    }
    expect([scope, shown.toSorted()]).toEqual([scope, events]);
  }
});

it('a token without such a scope can request a redelivery, but cannot see its payload', async () => {
  const world = new World();
  const account = await world.account();
  const agent = await account.agent();
  const webhook = await makeWebhook(account);
  await agent.request();
  await world.deliver();
  const [{ id }] = await listDeliveries(account, webhook);
  const token = await account.limitedToken('webhooks:read', 'webhooks:write');
  const path = `/v1/webhooks/${webhook.id}/deliveries`;
  const { body } = await world.must(202, 'POST', `${path}/${id}/redeliver`, { token });
  expect(body).not.toHaveProperty('payload');
  expect((await world.must(200, 'GET', `${path}/${body.id}`, { token })).body.payload).toBeNull();
  await world.deliver();
  const [first, second] = world.internet.sentTo(webhook.host);
  expect(second?.body).toBe(first?.body);
});
