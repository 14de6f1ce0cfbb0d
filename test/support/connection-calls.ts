import { type Answer, type Json, type TestAccount, type TestAgent, World } from './world';

/** The host of the service behind a connection. */
export const UPSTREAM = 'api.upstream-service.com';

/** Reads are allowed, everything else is asked for, deletions are denied. */
export const RULES = [
  { methods: ['GET', 'HEAD'], effect: 'allow' },
  { methods: ['DELETE'], effect: 'deny' },
  { effect: 'ask', scope: { amount: '{amount}' } },
];

/** A service with two accounts that have a connection each, and another history. */
export async function makeConnectionScene(fields: Json = {}, world = new World()) {
  world.internet.on(UPSTREAM, () => Response.json({ done: true }));
  const other = await world.account({ email: 'other@example.com' });
  const otherAgent = await other.agent();
  await otherAgent.request();
  const otherConnection = await makePayments(otherAgent, { name: 'Others' });
  const account = await world.account();
  await account.agent({ name: 'First' });
  const agent = await account.agent();
  const connection = await makePayments(agent, fields);
  return { world, account, agent, connection, other, otherAgent, otherConnection };
}

/** Creates a connection that an agent may use. */
export async function makePayments(agent: TestAgent, fields: Json = {}): Promise<Json> {
  const body = {
    name: 'Payments',
    base_url: `https://${UPSTREAM}/v1`,
    slug: 'payments',
    auth: { type: 'header' },
    secret: 'sk_SECRET',
    rules: RULES,
    agent_ids: [agent.id],
    ...fields,
  };
  return (await agent.account.must(201, 'POST', '/v1/connections', body)).body;
}

/** Lets a policy approve everything. */
export async function approveAll(account: TestAccount): Promise<string> {
  const policy = { name: 'All', effect: 'approve', actions: ['*'], resources: ['*'] };
  return (await account.must(201, 'POST', '/v1/policies', policy)).body.id;
}

/** Makes a call through a connection, by default one that is asked for. */
export function callUpstream(
  agent: TestAgent,
  connection: Json,
  {
    method = 'POST',
    path = '/payouts',
    body = { amount: 5, to: 'supplier-2' },
    headers = {},
  }: { method?: string; path?: string; body?: Json; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const target = `/v1/connections/${connection.id}/proxy${path}`;
  const hasBody = method !== 'GET' && method !== 'HEAD' && body !== null;
  return agent.account.world.call(method, target, {
    token: agent.key,
    ...(hasBody && { body }),
    headers,
  });
}

/** The status of an answer with the code of its problem, or what happened. */
export function codeOf({ status, body }: Answer): [number, string | undefined] {
  return [status, body?.code];
}

/** What the service behind the connection received, as method, path and body. */
export function receivedBy(world: World): string[] {
  return world.internet.requests
    .filter(({ url }) => new URL(url).hostname === UPSTREAM)
    .map(({ url, options }) => `${options.method} ${new URL(url).pathname}`);
}

/** The types of the entries about a permission, oldest first. */
export async function eventsOf(account: TestAccount): Promise<string[]> {
  return (await account.log()).map(({ event_type }) => event_type);
}
