import { makeConnection } from './connections';
import { makeWebhook } from './webhooks';
import { World } from './world';

/** The first file that the page at /docs loads. */
const FILE = /"(\/docs\/.+?)"/.exec((await new World().call('GET', '/docs')).text)?.[1] ?? '';

/** The required query parameters of a path. */
export const NEEDED_QUERIES: Record<string, string> = {
  '/v1/audit/consistency': 'from=0&to=0',
  '/v1/audit/histogram': 'start_date=2026-01-01&end_date=2026-01-31',
};

/** Turns a route into a request: `:id` belongs to the scene's account, and the body is valid. */
export function aim(route: string, scene: Scene) {
  const [method = '', pattern = ''] = route.split(' ');
  const ids: [RegExp, string][] = [
    [/^\/v1\/admin\/users/, scene.account.id],
    [/^\/v1\/me\/tokens/, scene.spareToken],
    [/^\/v1\/me\/sessions/, scene.session],
    [/^\/v1\/me\/notifications\/push/, scene.device],
    [/^\/v1\/members/, scene.member],
    [/^\/v1\/agents/, scene.agent.id],
    [/^\/v1\/permissions/, scene.permission.id],
    [/^\/v1\/audit\/export/, scene.export],
    [/^\/v1\/audit\/reports/, scene.report],
    [/^\/v1\/audit/, scene.entry],
    [/^\/v1\/downloads/, scene.download],
    [/^\/v1\/policies/, scene.policy],
    [/^\/v1\/webhooks/, scene.webhook],
    [/^\/v1\/channels/, scene.channel],
    [/^\/v1\/connections/, scene.connection],
  ];
  const id = ids.find(([start]) => start.test(pattern))?.[1] ?? '';
  const needed = NEEDED_QUERIES[pattern] ? `?${NEEDED_QUERIES[pattern]}` : '';
  const bodies: Record<string, unknown> = {
    'POST /v1/admin/users': { email: 'new@example.com' },
    'PATCH /v1/admin/users/:id': { name: 'Changed' },
    'POST /v1/admin/users/:id/owner': { email: 'second@example.com' },
    'PUT /v1/me/notifications': { events: ['permission.requested'] },
    'POST /v1/members': { email: 'new@example.com', role: 'approver' },
    'PUT /v1/members/:id': { name: 'Changed' },
    'PUT /v1/admin/users/:id/log/restoration': { shard: '00', restored_to: '2026-01-01T00:00:00Z' },
    'POST /v1/pairing': {
      code: 'unknown',
      code_verifier: 'v'.repeat(43),
      redirect_uri: 'http://127.0.0.1:1/',
    },
    'POST /v1/agents': { name: 'Another' },
    'PUT /v1/agents/:id': { name: 'Changed' },
    'POST /v1/permissions': { action: 'file.read', resource: 'file:a' },
    'POST /v1/permissions/:id/statement': { decision: 'approve' },
    'POST /v1/permissions/:id/outcome': { status: 'succeeded' },
    'POST /v1/audit/export': EXPORT,
    'POST /v1/audit/reports/compliance': REPORT,
    'POST /v1/webhooks': { url: 'https://hooks.example.com/' },
    'PUT /v1/webhooks/:id': { description: 'Changed' },
    'POST /v1/channels': CHANNEL,
    'PUT /v1/channels/:id': { name: 'Changed' },
    'POST /v1/connections': {
      name: 'Another',
      base_url: 'https://api.example.com',
      agent_ids: [scene.agent.id],
    },
    'PUT /v1/connections/:id': { name: 'Changed' },
    'POST /v1/connections/:id/test': { path: '/' },
    'POST /v1/policies': POLICY,
    'PUT /v1/policies/:id': { name: 'Changed' },
    'POST /v1/policies/replay': { policy: POLICY },
    'POST /v1/policies/simulate': { action: 'file.read', resource: 'file:a' },
    'POST /v1/tokens/use': { token: scene.token },
    'POST /v1/tokens/introspect': { token: scene.token },
    'POST /v1/tokens/revoke': { token: scene.token },
  };
  const path = pattern
    .replace('/docs/guides/:name', '/docs/guides/api')
    .replace('/docs/:version/:file', FILE)
    .replace(':id', id)
    .replace(':delivery_id', pattern.startsWith('/v1/channels') ? scene.message : scene.delivery);
  return {
    method,
    path: path + needed,
    ...(bodies[route] !== undefined && { body: bodies[route] }),
  };
}

const EXPORT = { start_date: '2026-01-01', end_date: '2026-12-31' };
const REPORT = {
  report_type: 'gdpr',
  period: { start: '2026-01-01', end: '2026-01-31' },
  format: 'json',
};
const CHANNEL = { kind: 'email', name: 'Mail to reviewers' };
const POLICY = { name: 'Reports', effect: 'approve', actions: ['report.*'], resources: ['*'] };

export type Scene = Awaited<ReturnType<typeof makeScene>>;

/** An enterprise account with a resource for each route. */
export async function makeScene(world = new World()) {
  const account = await world.account({ plan: 'enterprise' });
  const agent = await account.agent();
  const granted = await agent.approved({ max_uses: 5 });
  const permission = await agent.request();
  const [entry] = await account.log();
  const { body: policy } = await account.must(201, 'POST', '/v1/policies', POLICY);
  const { body: exported } = await account.must(202, 'POST', '/v1/audit/export', EXPORT);
  const { body: reported } = await account.must(
    202,
    'POST',
    '/v1/audit/reports/compliance',
    REPORT,
  );
  await world.work();
  await world.sweep();
  const { body: finished } = await account.must(
    200,
    'GET',
    `/v1/audit/export/${exported.export_id}`,
  );
  const webhook = await makeWebhook(account);
  const { body: delivery } = await account.must(202, 'POST', `/v1/webhooks/${webhook.id}/test`);
  const { body: channel } = await account.must(201, 'POST', '/v1/channels', CHANNEL);
  const { body: message } = await account.must(202, 'POST', `/v1/channels/${channel.id}/test`);
  const connection = await makeConnection(account, agent);
  const { body: member } = await account.must(201, 'POST', '/v1/members', {
    email: 'ada@example.com',
    role: 'auditor',
  });
  const { body: spare } = await account.must(201, 'POST', '/v1/me/tokens', {});
  return {
    world,
    account,
    agent,
    permission,
    token: granted.token.value,
    entry: entry.id,
    spareToken: spare.id,
    member: member.id,
    /** Only a member has a session: it is set by the tests that call as one. */
    session: 'session_01h455vb4pex5vsknk084sn02q',
    /** The same for a device. */
    device: 'push_01h455vb4pex5vsknk084sn02q',
    policy: policy.id,
    webhook: webhook.id,
    delivery: delivery.id,
    channel: channel.id,
    connection: connection.id,
    message: message.id,
    export: finished.export_id,
    report: reported.report_id,
    /** The last segment of the download path, with its query. */
    download: finished.download_url.split('/').at(-1),
  };
}
