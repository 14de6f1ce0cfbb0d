import { Client } from '../support/local/client.ts';
import { ADMIN_TOKEN, prepareState, startService } from '../support/local/service.ts';
import { createTenant } from '../support/local/tenant.ts';
import type { Report } from './report.ts';

type Permission = { id: string; token: { id: string; value?: string } | null };

/** Every list that an account has; `:webhook` and the like stand for an id. */
const LISTS = [
  ...['/v1/me/tokens', '/v1/me/sessions', '/v1/me/passkeys', '/v1/members', '/v1/agents'],
  ...['/v1/policies', '/v1/audit', '/v1/activity', '/v1/audit/export'],
  ...['/v1/audit/reports/compliance', '/v1/permissions', '/v1/permissions?status=pending'],
  ...['/v1/webhooks', '/v1/channels', '/v1/connections', '/v1/webhooks/:webhook/deliveries'],
  ...['/v1/channels/:channel/deliveries', '/v1/permissions/:permission/notifications'],
];

/**
 * Calls every endpoint with valid and invalid requests, and counts the round trips to the database,
 * including authentication. (After a refusal the use of the credential is recorded once a minute;
 * the answer does not wait for it.)
 */
export async function measureRoundTrips(report: Report, state: string): Promise<void> {
  report.heading('Round trips to the database');
  await prepareState(state);
  const { origin, stop } = await startService(state);
  try {
    await callEverything(report, origin);
  } finally {
    await stop();
  }
}

async function callEverything(report: Report, origin: string): Promise<void> {
  const { id, token, agents } = await createTenant(origin, 'enterprise', 2);
  const [first, second] = agents as [(typeof agents)[number], (typeof agents)[number]];
  const operator = new Client(origin, ADMIN_TOKEN);
  const user = new Client(origin, token);
  const agent = new Client(origin, first.key);
  const anybody = new Client(origin, 'nobody');

  await callAccounts(operator, user, id);
  await callMembers(operator, user, id);
  await callAgents(user, first.id, second.id);
  await callPermissions(user, agent);
  await callAudit(user, first.id);
  await callWebhooks(user);
  await callChannels(user);
  await callConnections(user, first.id);
  await callLists(report, user, agent);
  await callAsStranger(operator, user, agent, anybody);
  await operator.expect(202, 'DELETE', `/v1/admin/users/${id}`);
  const { trips, calls, call } = Client.worstTrips;
  report.atMost(2, trips, `the most round trips of ${calls} calls, by ${call}`);
}

async function callAccounts(operator: Client, user: Client, id: string): Promise<void> {
  await operator.expect(200, 'GET', '/v1/admin/users?plan=enterprise&limit=2');
  await operator.expect(200, 'GET', `/v1/admin/users/${id}`);
  await operator.expect(200, 'PATCH', `/v1/admin/users/${id}`, { name: 'Bench' });
  await operator.expect(404, 'GET', '/v1/admin/users/user_01h2xcejqtf2nbrexx3vqjhp41');
  await operator.expect(200, 'PATCH', `/v1/admin/users/${id}`, { audit_retention_days: 30 });
  await operator.expect(400, 'PATCH', `/v1/admin/users/${id}`, { audit_retention_days: 0 });
  await operator.expect(201, 'POST', `/v1/admin/users/${id}/tokens`, { name: 'second' });
  const restoration = { shard: '00', restored_to: '2026-01-01T00:00:00Z' };
  await operator.expect(200, 'PUT', `/v1/admin/users/${id}/log/restoration`, restoration);
  await user.expect(200, 'GET', '/v1/me');
  await user.expect(200, 'GET', '/v1/me/tokens');
  const created = await user.expect<{ id: string }>(201, 'POST', '/v1/me/tokens', {
    scopes: ['audit:read'],
  });
  await user.expect(204, 'DELETE', `/v1/me/tokens/${created.body.id}`);
  await user.expect(404, 'DELETE', `/v1/me/tokens/${created.body.id}`);
}

async function callMembers(operator: Client, user: Client, account: string): Promise<void> {
  const owner = { email: 'another@example.com' };
  await operator.expect(201, 'POST', `/v1/admin/users/${account}/owner`, owner);
  await operator.expect(409, 'POST', `/v1/admin/users/${account}/owner`, owner);
  const member = { email: 'approver@example.com', role: 'approver' };
  const { body } = await user.expect<{ id: string }>(201, 'POST', '/v1/members', member);
  await user.expect(409, 'POST', '/v1/members', member);
  await user.expect(200, 'GET', '/v1/members?role=approver');
  await user.expect(200, 'GET', `/v1/members/${body.id}`);
  await user.expect(200, 'PUT', `/v1/members/${body.id}`, { name: 'Bench' });
  await user.expect(201, 'POST', `/v1/members/${body.id}/invitation`);
  await user.expect(204, 'DELETE', `/v1/members/${body.id}`);
  await user.expect(200, 'GET', '/v1/me/sessions');
  await user.expect(200, 'GET', '/v1/me/passkeys');
}

async function callAgents(user: Client, first: string, second: string): Promise<void> {
  await user.expect(200, 'GET', '/v1/agents?active=true');
  await user.expect(200, 'GET', `/v1/agents/${first}`);
  await user.expect(200, 'PUT', `/v1/agents/${second}`, {
    is_active: false,
    description: 'switched off',
  });
  await user.expect(400, 'PUT', `/v1/agents/${second}`, {});
  await user.expect(200, 'POST', `/v1/agents/${second}/rotate-key`, { grace_period: 60 });
  await user.expect(200, 'GET', `/v1/agents/${first}/stats?period=365d`);
  await user.expect(204, 'DELETE', `/v1/agents/${second}`);
  for (const [method, path] of [
    ['GET', ''],
    ['PUT', ''],
    ['DELETE', ''],
    ['POST', '/rotate-key'],
    ['GET', '/stats'],
  ] as const) {
    await user.expect(
      404,
      method,
      `/v1/agents/${second}${path}`,
      method === 'PUT' ? { name: 'gone' } : undefined,
    );
  }
}

async function callPermissions(user: Client, agent: Client): Promise<void> {
  const wanted = { action: 'mail.send', resource: 'mailbox:support', scope: { max: 3 } };
  const [first, second] = [
    (await agent.expect<Permission>(201, 'POST', '/v1/permissions', wanted)).body,
    (await agent.expect<Permission>(201, 'POST', '/v1/permissions', { ...wanted, max_uses: 2 }))
      .body,
  ];
  await agent.expect(400, 'POST', '/v1/permissions', { action: 'mail' });
  for (const caller of [user, agent]) {
    await caller.expect(200, 'GET', '/v1/permissions?status=pending&action=mail.send');
    await caller.expect(200, 'GET', `/v1/permissions/${first.id}`);
  }
  await user.expect(400, 'POST', `/v1/permissions/${second.id}/approve`, { scope: { max: 4 } });
  await user.expect(200, 'POST', `/v1/permissions/${first.id}/deny`, { reason: 'no' });
  await user.expect(409, 'POST', `/v1/permissions/${first.id}/approve`);
  await user.expect(200, 'POST', `/v1/permissions/${second.id}/approve`, { scope: { max: 2 } });
  await user.expect(409, 'POST', `/v1/permissions/${second.id}/deny`);
  await user.expect(404, 'POST', '/v1/permissions/perm_01h2xcejqtf2nbrexx3vqjhp41/deny');
  const { body } = await agent.expect<Permission>(200, 'GET', `/v1/permissions/${second.id}`);
  const token = { token: body.token?.value };
  await agent.expect(409, 'POST', '/v1/tokens/use', { ...token, action: 'mail.read' });
  await agent.expect(200, 'POST', '/v1/tokens/use', token);
  await user.expect(200, 'POST', '/v1/tokens/use', token);
  await user.expect(409, 'POST', '/v1/tokens/use', token);
  await user.expect(200, 'POST', '/v1/tokens/revoke', { token_id: body.token?.id });
  await user.expect(409, 'POST', '/v1/tokens/use', { token: 'none' });
  await user.expect(200, 'GET', '/.well-known/jwks.json');
}

async function callAudit(user: Client, agent: string): Promise<void> {
  type Page = { data: { id: string }[]; next_cursor: string };
  const page = await user.expect<Page>(200, 'GET', `/v1/audit?agent_id=${agent}&limit=2`);
  await user.expect(
    200,
    'GET',
    `/v1/audit?agent_id=${agent}&limit=2&cursor=${page.body.next_cursor}`,
  );
  await user.expect(400, 'GET', `/v1/audit?limit=2&cursor=${page.body.next_cursor}`);
  await user.expect(400, 'GET', '/v1/audit?start_date=yesterday');
  await user.expect(200, 'GET', '/v1/audit?order=asc&after_sequence=3');
  await user.expect(200, 'GET', `/v1/audit/${page.body.data[0]?.id}`);
  await user.expect(404, 'GET', '/v1/audit/audit_01h2xcejqtf2nbrexx3vqjhp41');
  const reports = '/v1/audit/reports/compliance';
  const report = {
    report_type: 'gdpr',
    period: { start: '2026-01-01', end: '2026-01-31' },
    format: 'json',
  };
  const { body } = await user.expect<{ report_id: string }>(202, 'POST', reports, report);
  await user.expect(200, 'GET', `${reports}/${body.report_id}`);
  await user.expect(200, 'GET', `${reports}?limit=2`);
  await user.expect(404, 'GET', `${reports}/report_01h2xcejqtf2nbrexx3vqjhp41`);
  await user.expect(400, 'POST', reports, { ...report, report_type: 'x' });
}

async function callWebhooks(user: Client): Promise<void> {
  const url = 'https://hooks.example.com/';
  const { body } = await user.expect<{ id: string }>(201, 'POST', '/v1/webhooks', { url });
  const path = `/v1/webhooks/${body.id}`;
  await user.expect(400, 'POST', '/v1/webhooks', {
    url,
    agent_ids: ['agent_01h2xcejqtf2nbrexx3vqjhp41'],
  });
  await user.expect(200, 'GET', '/v1/webhooks');
  await user.expect(200, 'GET', path);
  await user.expect(200, 'PUT', path, { events: ['audit.created'] });
  await user.expect(200, 'POST', `${path}/rotate-secret`);
  const { body: delivery } = await user.expect<{ id: string }>(202, 'POST', `${path}/test`);
  await user.expect(200, 'GET', `${path}/deliveries?status=pending`);
  await user.expect(200, 'GET', `${path}/deliveries/${delivery.id}`);
  await user.expect(202, 'POST', `${path}/deliveries/${delivery.id}/redeliver`);
  await user.expect(404, 'GET', `${path}/deliveries/dlv_01h2xcejqtf2nbrexx3vqjhp41`);
  await user.expect(200, 'PUT', path, { is_active: false });
  await user.expect(409, 'POST', `${path}/test`);
  await user.expect(204, 'DELETE', path);
  await user.expect(404, 'POST', `${path}/test`);
}

async function callConnections(user: Client, agent: string): Promise<void> {
  const fields = { name: 'Bench', base_url: 'https://api.example.com', agent_ids: [agent] };
  const { body } = await user.expect<{ id: string }>(201, 'POST', '/v1/connections', fields);
  const path = `/v1/connections/${body.id}`;
  await user.expect(409, 'POST', '/v1/connections', fields);
  await user.expect(400, 'POST', '/v1/connections', { ...fields, base_url: 'https://10.0.0.1' });
  await user.expect(200, 'GET', '/v1/connections');
  await user.expect(200, 'GET', path);
  await user.expect(200, 'PUT', path, { is_active: false });
  await user.expect(403, 'POST', `${path}/test`, { path: '/' });
  await user.expect(204, 'DELETE', path);
  await user.expect(404, 'PUT', path, { is_active: true });
}

async function callChannels(user: Client): Promise<void> {
  const fields = { kind: 'email', name: 'Mail' };
  const { body } = await user.expect<{ id: string }>(201, 'POST', '/v1/channels', fields);
  const path = `/v1/channels/${body.id}`;
  await user.expect(400, 'POST', '/v1/channels', { ...fields, events: ['audit.created'] });
  await user.expect(200, 'GET', '/v1/channels');
  await user.expect(200, 'GET', path);
  await user.expect(200, 'PUT', path, { events: ['permission.requested'] });
  const { body: delivery } = await user.expect<{ id: string }>(202, 'POST', `${path}/test`);
  await user.expect(200, 'GET', `${path}/deliveries?status=pending`);
  await user.expect(200, 'GET', `${path}/deliveries/${delivery.id}`);
  await user.expect(202, 'POST', `${path}/deliveries/${delivery.id}/redeliver`);
  const { body: permissions } = await user.expect<{ data: { id: string }[] }>(
    200,
    'GET',
    '/v1/permissions?limit=1',
  );
  await user.expect(200, 'GET', `/v1/permissions/${permissions.data[0]?.id}/notifications`);
  await user.expect(204, 'DELETE', path);
  await user.expect(404, 'POST', `${path}/test`);
}

/** A list needs no round trip but that of its authentication, also on the next page. */
async function callLists(report: Report, user: Client, agent: Client): Promise<void> {
  type Created = { id: string };
  const url = 'https://hooks.example.com/';
  const wanted = { action: 'mail.send', resource: 'mailbox:support', scope: {} };
  const { body: webhook } = await user.expect<Created>(201, 'POST', '/v1/webhooks', { url });
  const { body: channel } = await user.expect<Created>(201, 'POST', '/v1/channels', {
    ...{ kind: 'email', name: 'Mail' },
  });
  const { body: permission } = await agent.expect<Created>(201, 'POST', '/v1/permissions', wanted);
  const ids = { webhook: webhook.id, channel: channel.id, permission: permission.id };
  let most = 0;
  for (const list of LISTS) {
    const path = list.replace(/:(\w+)/, (_, name) => ids[name as keyof typeof ids]);
    const first = `${path}${path.includes('?') ? '&' : '?'}limit=1`;
    const { cost, body } = await user.expect<{ next_cursor: string | null }>(200, 'GET', first);
    most = Math.max(most, cost.trips);
    if (body.next_cursor === null) continue;
    const next = await user.expect(200, 'GET', `${first}&cursor=${body.next_cursor}`);
    most = Math.max(most, next.cost.trips);
  }
  const own = await agent.expect(200, 'GET', '/v1/permissions');
  report.atMost(1, Math.max(most, own.cost.trips), `the most round trips of ${LISTS.length} lists`);
}

async function callAsStranger(
  operator: Client,
  user: Client,
  agent: Client,
  anybody: Client,
): Promise<void> {
  await anybody.expect(200, 'GET', '/healthz');
  await anybody.expect(401, 'GET', '/v1/agents');
  await operator.expect(403, 'GET', '/v1/agents');
  await user.expect(403, 'GET', '/v1/admin/users');
  await agent.expect(403, 'GET', '/v1/audit');
  await user.expect(403, 'POST', '/v1/permissions', {
    action: 'mail.send',
    resource: 'mailbox:support',
  });
  await user.expect(404, 'GET', '/v1/nothing');
  await user.expect(405, 'PATCH', '/v1/agents');
}
