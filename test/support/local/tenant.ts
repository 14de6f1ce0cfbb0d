import { randomBytes } from 'node:crypto';
import { Client } from './client.ts';
import { ADMIN_TOKEN } from './service.ts';

/** An account of a local service, with the credentials of its owner and its agents. */
export interface Tenant {
  id: string;
  token: string;
  agents: { id: string; key: string }[];
}

/** Creates an account and its agents through the API. */
export async function createTenant(origin: string, plan: string, agents: number): Promise<Tenant> {
  const operator = new Client(origin, ADMIN_TOKEN);
  const email = `${plan}-${randomBytes(4).toString('hex')}@example.com`;
  type Created = { id: string; token: { token: string } };
  const { body } = await operator.expect<Created>(201, 'POST', '/v1/admin/users', { email, plan });
  const tenant: Tenant = { id: body.id, token: body.token.token, agents: [] };
  const user = new Client(origin, tenant.token);
  for (let number = 1; number <= agents; number++) {
    const agent = { name: `agent ${number}`, metadata: { team: `team ${number % 7}` } };
    const created = await user.expect<{ id: string; api_key: string }>(
      201,
      'POST',
      '/v1/agents',
      agent,
    );
    tenant.agents.push({ id: created.body.id, key: created.body.api_key });
  }
  return tenant;
}
