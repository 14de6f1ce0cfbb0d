import { Client } from '../support/local/client.ts';
import type { Service } from '../support/local/service.ts';
import type { Tenant } from '../support/local/tenant.ts';
import type { Receiver } from './receiver.ts';

/** Registers webhooks of a tenant, each with its own path below `path`, and returns their ids. */
export async function registerWebhooks(
  service: Service,
  { token }: Tenant,
  receiver: Receiver,
  count: number,
  path = '/well',
): Promise<string[]> {
  const user = new Client(service.origin, token);
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const url = `${receiver.origin}${path}/${token.slice(6, 14)}/${i}`;
    const { body } = await user.expect<{ id: string }>(201, 'POST', '/v1/webhooks', { url });
    ids.push(body.id);
  }
  return ids;
}

/**
 * Has an agent of a tenant request a permission, whose entry its webhooks get; returns the
 * permission's id.
 */
export async function requestPermission(service: Service, tenant: Tenant): Promise<string> {
  const agent = new Client(service.origin, tenant.agents[0]?.key ?? '');
  const wanted = { action: 'mail.send', resource: 'mailbox:support' };
  return (await agent.expect<{ id: string }>(201, 'POST', '/v1/permissions', wanted)).body.id;
}

/** The id of the permission in a message. */
export function permissionOf(body: string): string {
  return (JSON.parse(body) as { data: { permission_request_id: string } }).data
    .permission_request_id;
}
