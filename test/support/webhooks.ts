import { env } from 'cloudflare:test';
import { Webhook } from 'standardwebhooks';
import { vi } from 'vitest';
import { answers, type Received } from './internet';
import type { Json, TestAccount } from './world';

/** A webhook of a test account, at a host that answers 200. */
export interface TestWebhook {
  id: string;
  secret: string;
  host: string;
}

let hosts = 0;

/** Registers a webhook with a host of its own. */
export async function makeWebhook(account: TestAccount, fields: Json = {}): Promise<TestWebhook> {
  hosts += 1;
  const host = `receiver-${hosts}.example.com`;
  account.world.internet.on(host, answers(200));
  const { body } = await account.must(201, 'POST', '/v1/webhooks', {
    url: `https://${host}/hook`,
    ...fields,
  });
  return { id: body.id, secret: body.secret, host };
}

/** Registers a webhook and marks it as one whose receiver has already answered quickly. */
export async function makeProvenWebhook(
  account: TestAccount,
  fields: Json = {},
): Promise<TestWebhook> {
  const webhook = await makeWebhook(account, fields);
  await env.DB.prepare(
    'update receivers set is_slow = 0 where number = (select max(number) from receivers)',
  ).run();
  return webhook;
}

/** The deliveries of a webhook, newest first. */
export async function listDeliveries(
  account: TestAccount,
  webhook: { id: string },
  query = '',
): Promise<Json[]> {
  return (await account.must(200, 'GET', `/v1/webhooks/${webhook.id}/deliveries?limit=100${query}`))
    .body.data;
}

/** A delivery with its attempts. */
export async function readDelivery(
  account: TestAccount,
  webhook: { id: string },
  id: string,
): Promise<Json> {
  return (await account.must(200, 'GET', `/v1/webhooks/${webhook.id}/deliveries/${id}`)).body;
}

export async function readWebhook(account: TestAccount, webhook: { id: string }): Promise<Json> {
  return (await account.must(200, 'GET', `/v1/webhooks/${webhook.id}`)).body;
}

/**
 * Verifies and parses a message with the reference library of Standard Webhooks, which throws for a
 * forged message.
 */
export function verify(secret: string, { headers, body }: Received, now: number): Json {
  const clock = vi.spyOn(Date, 'now').mockReturnValue(now);
  try {
    return new Webhook(secret).verify(body, Object.fromEntries(headers));
  } finally {
    clock.mockRestore();
  }
}
