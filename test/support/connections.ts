import { env } from 'cloudflare:test';
import { idBytes } from '../../src/lib/typeid';
import { answers } from './internet';
import type { Json, TestAccount, TestAgent } from './world';

/** A connection of a test account, at a host of its own that answers 200. */
export interface TestConnection {
  id: string;
  host: string;
  secret: string;
}

let hosts = 0;

/** Creates a connection that one agent may call, with a secret in the header `Authorization`. */
export async function makeConnection(
  account: TestAccount,
  agent: TestAgent,
  fields: Json = {},
): Promise<TestConnection> {
  hosts += 1;
  const host = `service-${hosts}.example.com`;
  const secret = `sk_test_${hosts}_26PHem9AhJZvU623DfE1x4sd`;
  account.world.internet.on(host, answers(200));
  const { body } = await account.must(201, 'POST', '/v1/connections', {
    name: `Service ${hosts}`,
    base_url: `https://${host}`,
    auth: { type: 'header' },
    secret,
    agent_ids: [agent.id],
    ...fields,
  });
  return { id: body.id, host, secret };
}

/** Makes a permission one that a connection asked for. */
export async function giveToConnection(permission: string, connection: string): Promise<void> {
  await env.DB.prepare('update permissions set connection_id = ? where id = ?')
    .bind(idBytes(connection), idBytes(permission))
    .run();
}
