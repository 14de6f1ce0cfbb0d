import {
  ASKED,
  BUDGETED,
  exportOf,
  type GrowthAccount,
  REVIEW_POLICY,
  REVIEWED,
  reportOf,
} from './account.ts';
import type { Call } from './service.ts';

/** One line of the growth table: a call of a route, and of a tool for the MCP server. */
export interface Line {
  route: string;
  /** What tells it from other calls of the route. */
  what: string;
  /** Makes the call; what it needs it makes by requests that are not measured. */
  make: (account: GrowthAccount) => Call | Promise<Call>;
  /**
   * How many rows it may read in an account of any size, if it examines up to a number of
   * permissions.
   */
  most?: number;
  /** Whether it changes a part of the history, so that it may cost more with more of it. */
  changesHistory?: boolean;
}

/** A replay evaluates 2,000 requests, and reads the agent of each. */
const MOST_OF_REPLAY = 4_200;
/** A list of what a connection made examines 500 permissions, and reads most of them twice. */
const MOST_OF_CONNECTION = 1_500;
/** A search of the explorer examines 1,000 entries, and reads each three times; the timeline 4,500. */
const MOST_OF_SEARCH = 7_500;
/** The form of a policy reads the names of up to 1,000 people. */
const MOST_OF_FORM = 1_100;

function line(route: string, make: Line['make'], what = ''): Line {
  return { route, what, make };
}

/** A page of the console. */
function page(path: string | ((account: GrowthAccount) => string), route?: string): Line {
  const address = typeof path === 'string' ? () => path : path;
  const [pattern = '', query = ''] = (route ?? (path as string)).split('?');
  return line(
    `GET ${pattern}`,
    (account) => ({ path: address(account), cookie: account.cookie }),
    query,
  );
}

/** A call of a tool of the MCP server, by the agent or with the account's token. */
function tool(
  name: string,
  as: 'agent' | 'user',
  make: (account: GrowthAccount) => object | Promise<object>,
): Line {
  return line(
    'POST /mcp',
    async (account) => ({
      path: '/mcp',
      token: as === 'agent' ? account.agent.key : account.token,
      headers: { Accept: 'application/json, text/event-stream' },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: await make(account) },
      },
    }),
    name,
  );
}

/** A call with the agent's key. */
const byAgent = (account: GrowthAccount, call: Call): Call => ({
  ...call,
  token: account.agent.key,
});

/** Takes a use whose outcome was promised, as the account or as the agent. Returns its permission. */
async function useWithPromise(
  { must, agent, token }: GrowthAccount,
  user = token,
): Promise<string> {
  const asAgent = { token: agent.key };
  const { id } = await must(
    'POST',
    '/v1/permissions',
    { ...ASKED, reports_outcome: true },
    asAgent,
  );
  await must('POST', `/v1/permissions/${id}/approve`);
  const permission = await must('GET', `/v1/permissions/${id}`, undefined, asAgent);
  await must('POST', '/v1/tokens/use', { token: permission.token.value }, { token: user });
  return id;
}

/** Gives a series for a resource, and returns its first permission. */
async function giveSeries({ must, agent }: GrowthAccount, resource: string): Promise<string> {
  const series = { requests: 5, expires_in: 3_600 };
  const asAgent = { token: agent.key };
  const { id } = await must('POST', '/v1/permissions', { ...ASKED, resource, series }, asAgent);
  await must('POST', `/v1/permissions/${id}/approve`, { series });
  return id;
}

let names = 0;
/** A name that nothing has yet. */
function newName(): string {
  names += 1;
  return `new-${names}`;
}

function take(list: string[]): string {
  const taken = list.pop();
  if (taken === undefined)
    throw new Error('the account has too few rows for the calls of the table');
  return taken;
}

const email = () => `${crypto.randomUUID()}@example.com`;
const operator = ({ service }: GrowthAccount, call: Call): Call => ({
  ...call,
  token: service.operatorToken,
});
const spanOf = ({ today }: GrowthAccount) => `start_date=${today}&end_date=${today}`;
const PERMISSIONS = ['', 'status=pending', 'status=approved', 'status=denied', 'status=expired'];

/** Makes a webhook, a channel, … to change or delete. */
async function made(account: GrowthAccount, path: string, body: object): Promise<string> {
  return `${path}/${(await account.must('POST', path, body)).id}`;
}
const newWebhook = (account: GrowthAccount) =>
  made(account, '/v1/webhooks', { url: 'https://hooks.example.com/' });
const newChannel = (account: GrowthAccount) =>
  made(account, '/v1/channels', { kind: 'email', name: 'Mail' });
const newConnection = (account: GrowthAccount) =>
  made(account, '/v1/connections', {
    name: newName(),
    base_url: 'https://mail.example.com',
    agent_ids: [account.agent.id],
  });
const newAgent = (account: GrowthAccount) => made(account, '/v1/agents', { name: 'Mailer' });
const newMember = (account: GrowthAccount) =>
  made(account, '/v1/members', { email: email(), role: 'auditor' });
const newPolicy = (account: GrowthAccount) =>
  made(account, '/v1/policies', { ...REVIEW_POLICY, actions: ['x.y'] });
const newToken = (account: GrowthAccount) => made(account, '/v1/me/tokens', {});

const SERVICE: Line[] = [
  line('GET /healthz', () => ({ path: '/healthz', token: null })),
  line('GET /openapi.json', () => ({ path: '/openapi.json', token: null })),
  line('GET /.well-known/jwks.json', () => ({ path: '/.well-known/jwks.json', token: null })),
  line('GET /.well-known/oauth-authorization-server', () => ({
    path: '/.well-known/oauth-authorization-server',
    token: null,
  })),
];

const OPERATOR: Line[] = [
  line('POST /v1/admin/users', (a) =>
    operator(a, { path: '/v1/admin/users', body: { email: email() } }),
  ),
  line('GET /v1/admin/users', (a) => operator(a, { path: '/v1/admin/users' })),
  line('GET /v1/admin/users/:id', (a) => operator(a, { path: `/v1/admin/users/${a.id}` })),
  line('PATCH /v1/admin/users/:id', (a) =>
    operator(a, { path: `/v1/admin/users/${a.id}`, body: { name: newName() } }),
  ),
  {
    ...line(
      'PATCH /v1/admin/users/:id',
      (a) => operator(a, { path: `/v1/admin/users/${a.id}`, body: { plan: 'enterprise' } }),
      'plan',
    ),
    // Each removed member is erased at another time.
    changesHistory: true,
  },
  line('POST /v1/admin/users/:id/tokens', (a) =>
    operator(a, { path: `/v1/admin/users/${a.id}/tokens`, body: {} }),
  ),
  line('POST /v1/admin/users/:id/owner', (a) =>
    operator(a, { path: `/v1/admin/users/${a.id}/owner`, body: { email: email() } }),
  ),
];

/** What ends an account, or what others need, comes last. */
const END: Line[] = [
  // Ends the files, which may have entries of the agent.
  line('DELETE /v1/agents/:id', async (a) => ({ path: await newAgent(a) })),
  line('PUT /v1/admin/users/:id/log/restoration', (a) =>
    operator(a, {
      path: `/v1/admin/users/${a.id}/log/restoration`,
      body: { shard: '00', restored_to: '2026-01-01T00:00:00Z' },
    }),
  ),
  line('DELETE /v1/admin/users/:id', (a) => operator(a, { path: `/v1/admin/users/${a.id}` })),
];

const ACCOUNT: Line[] = [
  line('GET /v1/me', () => ({ path: '/v1/me' })),
  line('POST /v1/me/stop', () => ({ path: '/v1/me/stop', body: { reason: 'A drill' } })),
  line('GET /v1/me', () => ({ path: '/v1/me' }), 'stopped'),
  line('POST /v1/me/resume', () => ({ path: '/v1/me/resume' })),
  line('GET /v1/me/tokens', () => ({ path: '/v1/me/tokens' })),
  line('POST /v1/me/tokens', () => ({ path: '/v1/me/tokens', body: {} })),
  line('DELETE /v1/me/tokens/:id', async (a) => ({ path: await newToken(a) })),
  line('POST /v1/pairing', () => ({
    path: '/v1/pairing',
    token: null,
    body: { code: 'unknown', code_verifier: 'v'.repeat(43), redirect_uri: 'http://127.0.0.1:1/' },
    status: 400,
  })),
  line('GET /v1/me/sessions', () => ({ path: '/v1/me/sessions' })),
  line('DELETE /v1/me/sessions/:id', () => ({
    path: '/v1/me/sessions/session_01h455vb4pex5vsknk084sn02q',
    status: 404,
  })),
  line('GET /v1/me/passkeys', () => ({ path: '/v1/me/passkeys' })),
  line('GET /v1/me/notifications', () => ({ path: '/v1/me/notifications' })),
  line('DELETE /v1/me/notifications/push/:id', () => ({
    path: '/v1/me/notifications/push/push_01h455vb4pex5vsknk084sn02q',
    status: 404,
  })),
  line('PUT /v1/me/notifications', () => ({
    path: '/v1/me/notifications',
    body: { events: ['permission.requested'] },
  })),
  line('GET /v1/members', () => ({ path: '/v1/members' })),
  line('GET /v1/members', () => ({ path: '/v1/members?role=auditor' }), 'role'),
  line('POST /v1/members', () => ({
    path: '/v1/members',
    body: { email: email(), role: 'auditor' },
  })),
  line('GET /v1/members/:id', (a) => ({ path: `/v1/members/${a.member}` })),
  line('PUT /v1/members/:id', (a) => ({
    path: `/v1/members/${a.member}`,
    body: { name: newName() },
  })),
  line(
    'PUT /v1/members/:id',
    (a) => ({ path: `/v1/members/${a.member}`, body: { role: 'admin' } }),
    'role',
  ),
  line('DELETE /v1/members/:id', async (a) => ({ path: await newMember(a) })),
  line('POST /v1/members/:id/invitation', async (a) => ({
    path: `${await newMember(a)}/invitation`,
  })),
];

const AGENTS: Line[] = [
  line('GET /v1/agents', () => ({ path: '/v1/agents' })),
  line('GET /v1/agents', () => ({ path: '/v1/agents?active=true&limit=100' }), 'active'),
  line('POST /v1/agents', () => ({ path: '/v1/agents', body: { name: 'Mailer' } })),
  line('GET /v1/agents/:id', (a) => ({ path: `/v1/agents/${a.agent.id}` })),
  line('PUT /v1/agents/:id', (a) => ({
    path: `/v1/agents/${a.agent.id}`,
    body: { description: newName() },
  })),
  line('POST /v1/agents/:id/rotate-key', (a) => ({
    path: `/v1/agents/${a.agent.id}/rotate-key`,
    body: { grace_period: 86_400 },
  })),
  line('GET /v1/agents/:id/stats', (a) => ({ path: `/v1/agents/${a.agent.id}/stats?period=365d` })),
];

const PERMISSION_LINES: Line[] = [
  line('POST /v1/permissions', (a) => byAgent(a, { path: '/v1/permissions', body: ASKED })),
  line(
    'POST /v1/permissions',
    (a) => byAgent(a, { path: '/v1/permissions', body: { ...ASKED, external_id: newName() } }),
    'external_id',
  ),
  line(
    'POST /v1/permissions',
    (a) =>
      byAgent(a, {
        path: '/v1/permissions',
        body: { ...ASKED, max_uses: 2, external_id: 'first' },
      }),
    'the same external_id',
  ),
  line(
    'POST /v1/permissions',
    (a) =>
      byAgent(a, {
        path: '/v1/permissions',
        body: { ...ASKED, external_id: newName() },
        headers: { 'Idempotency-Key': newName() },
      }),
    'external_id and idempotency key',
  ),
  line(
    'POST /v1/permissions',
    (a) => byAgent(a, { path: '/v1/permissions', body: REVIEWED }),
    'review',
  ),
  line(
    'POST /v1/permissions',
    (a) => byAgent(a, { path: '/v1/permissions', body: BUDGETED }),
    'budget',
  ),
  ...PERMISSIONS.flatMap((query) => [
    line('GET /v1/permissions', () => ({ path: `/v1/permissions?${query}` }), query),
    line(
      'GET /v1/permissions',
      (a) => byAgent(a, { path: `/v1/permissions?${query}` }),
      `agent ${query}`,
    ),
  ]),
  line(
    'GET /v1/permissions',
    (a) => ({ path: `/v1/permissions?agent_id=${a.agent.id}&action=${ASKED.action}` }),
    'agent_id action',
  ),
  line(
    'GET /v1/permissions',
    () => ({ path: `/v1/permissions?action=${REVIEWED.action}` }),
    'reviewed',
  ),
  line('GET /v1/permissions', () => ({ path: '/v1/permissions?external_id=first' }), 'external_id'),
  line(
    'GET /v1/permissions',
    (a) => byAgent(a, { path: '/v1/permissions?external_id=first' }),
    'agent external_id',
  ),
  line(
    'GET /v1/permissions',
    (a) => ({ path: `/v1/permissions?external_id=first&status=approved&agent_id=${a.agent.id}` }),
    'external_id status agent_id',
  ),
  ...['', 'status=pending', 'status=denied', 'outcome=failed'].map((query) => ({
    ...line(
      'GET /v1/permissions',
      (a) => ({ path: `/v1/permissions?connection_id=${a.connection}&${query}` }),
      `connection_id ${query}`,
    ),
    most: MOST_OF_CONNECTION,
  })),
  ...['', '&status=denied', `&action=${ASKED.action}`].map((query) =>
    line(
      'GET /v1/permissions',
      (a) => ({ path: `/v1/permissions?decided_by=${a.member}${query}` }),
      `decided_by ${query}`,
    ),
  ),
  line('GET /v1/permissions/:id', (a) => ({ path: `/v1/permissions/${a.used}` })),
  line(
    'GET /v1/permissions/:id',
    (a) => byAgent(a, { path: `/v1/permissions/${a.reviewed}` }),
    'reviewed',
  ),
  line('GET /v1/permissions/:id/receipt', (a) => ({
    path: `/v1/permissions/${a.used}/receipt`,
  })),
  line('GET /v1/permissions/:id/notifications', (a) => ({
    path: `/v1/permissions/${a.reviewed}/notifications`,
  })),
  line('POST /v1/permissions/:id/statement', (a) => ({
    path: `/v1/permissions/${a.reviewed}/statement`,
    body: { decision: 'approve' },
  })),
  line('POST /v1/permissions/:id/approve', (a) => ({
    path: `/v1/permissions/${take(a.pending)}/approve`,
  })),
  line(
    'POST /v1/permissions/:id/approve',
    (a) => ({
      path: `/v1/permissions/${take(a.pending)}/approve`,
      headers: { 'Idempotency-Key': newName() },
    }),
    'idempotency key',
  ),
  line(
    'POST /v1/permissions/:id/approve',
    (a) => ({ path: `/v1/permissions/${a.reviewed}/approve` }),
    'a vote',
  ),
  line('POST /v1/permissions/:id/deny', (a) => ({
    path: `/v1/permissions/${take(a.pending)}/deny`,
  })),
  line('POST /v1/permissions/:id/withdraw', (a) =>
    byAgent(a, { path: `/v1/permissions/${take(a.pending)}/withdraw` }),
  ),
  line('DELETE /v1/permissions/:id/series', async (a) => ({
    path: `/v1/permissions/${await giveSeries(a, `mailbox:${newName()}`)}/series`,
  })),
  line(
    'POST /v1/permissions',
    async (a) => {
      const resource = `mailbox:${newName()}`;
      const id = await giveSeries(a, resource);
      const answer = await a.must(
        'POST',
        '/v1/permissions',
        { ...ASKED, resource },
        { token: a.agent.key },
      );
      if (answer.decided_by !== id) throw new Error('the series approved nothing');
      return byAgent(a, { path: '/v1/permissions', body: { ...ASKED, resource } });
    },
    'by a series',
  ),
  line('POST /v1/permissions/:id/outcome', async (a) => ({
    path: `/v1/permissions/${await useWithPromise(a)}/outcome`,
    body: { status: 'failed', summary: 'The mailbox is full' },
  })),
  ...['failed', 'unknown', 'failed&status=approved'].map((query) =>
    line(
      'GET /v1/permissions',
      () => ({ path: `/v1/permissions?outcome=${query}` }),
      `outcome ${query}`,
    ),
  ),
  line('POST /v1/tokens/use', (a) =>
    byAgent(a, { path: '/v1/tokens/use', body: { token: take(a.tokens) } }),
  ),
  line(
    'POST /v1/tokens/use',
    (a) => ({
      path: '/v1/tokens/use',
      body: { token: take(a.tokens) },
      headers: { 'Idempotency-Key': newName() },
    }),
    'idempotency key',
  ),
  line('POST /v1/tokens/introspect', (a) => ({
    path: '/v1/tokens/introspect',
    body: { token: take(a.tokens) },
  })),
  line('POST /v1/tokens/revoke', (a) => ({
    path: '/v1/tokens/revoke',
    body: { token: take(a.tokens) },
  })),
  line('GET /v1/policies', () => ({ path: '/v1/policies?limit=100' })),
  line('POST /v1/policies', () => ({
    path: '/v1/policies',
    body: { ...REVIEW_POLICY, actions: ['x.y'] },
  })),
  line('GET /v1/policies/:id', (a) => ({ path: `/v1/policies/${a.policy}` })),
  line('PUT /v1/policies/:id', (a) => ({
    path: `/v1/policies/${a.policy}`,
    body: { review: REVIEW_POLICY.review },
  })),
  line('DELETE /v1/policies/:id', async (a) => ({ path: await newPolicy(a) })),
  line('POST /v1/policies/simulate', (a) => ({
    path: '/v1/policies/simulate',
    body: { agent_id: a.agent.id, action: REVIEWED.action, resource: REVIEWED.resource },
  })),
];

const REPLAYS: Line[] = [
  {
    ...line('POST /v1/policies/replay', () => ({
      path: '/v1/policies/replay',
      body: { policy: REVIEW_POLICY },
    })),
    most: MOST_OF_REPLAY,
  },
  {
    ...page(
      (a) => `/console/policies/new?permission=${a.used}`,
      '/console/policies/new?permission',
    ),
    most: MOST_OF_FORM + MOST_OF_REPLAY,
  },
];

const AUDIT: Line[] = [
  ...[
    '',
    'limit=100',
    'order=asc&after_sequence=3',
    'event_type=deny',
    `action=${ASKED.action}`,
  ].map((query) => line('GET /v1/audit', () => ({ path: `/v1/audit?${query}` }), query)),
  line('GET /v1/audit', (a) => ({ path: `/v1/audit?${spanOf(a)}` }), 'dates'),
  line(
    'GET /v1/audit',
    (a) => ({ path: `/v1/audit?event_type=use&${spanOf(a)}` }),
    'event_type dates',
  ),
  line('GET /v1/activity', (a) => ({ path: `/v1/activity?${spanOf(a)}` }), 'dates'),
  line('GET /v1/audit', (a) => ({ path: `/v1/audit?agent_id=${a.agent.id}` }), 'agent_id'),
  line('GET /v1/audit', (a) => ({ path: `/v1/audit?permission_id=${a.used}` }), 'permission_id'),
  line('GET /v1/audit/:id', (a) => ({ path: `/v1/audit/${a.entry}` })),
  line('GET /v1/audit/:id/proof', (a) => ({ path: `/v1/audit/${a.entry}/proof` })),
  line('GET /v1/audit/checkpoint', () => ({ path: '/v1/audit/checkpoint' })),
  line(
    'GET /v1/audit/checkpoint',
    // It reads the row of the log as with a cosigned head; the head itself is in the bucket.
    () => ({ path: '/v1/audit/checkpoint?witnessed=true', status: 404 }),
    'witnessed',
  ),
  line('GET /v1/audit/consistency', () => ({ path: '/v1/audit/consistency?from=0&to=1' })),
  line('GET /v1/audit/export', () => ({ path: '/v1/audit/export' })),
  line('POST /v1/audit/export', (a) => ({ path: '/v1/audit/export', body: exportOf(a.today) })),
  line('GET /v1/audit/export/:id', (a) => ({ path: `/v1/audit/export/${a.export}` })),
  line('GET /v1/audit/reports/compliance', () => ({ path: '/v1/audit/reports/compliance' })),
  line('POST /v1/audit/reports/compliance', (a) => ({
    path: '/v1/audit/reports/compliance',
    body: reportOf(a.today),
  })),
  line('GET /v1/audit/reports/compliance/:id', (a) => ({
    path: `/v1/audit/reports/compliance/${a.report}`,
  })),
  line('GET /v1/downloads/:id', (a) => ({ path: a.download, token: null })),
  ...['', 'action=agent.updated', 'action=channel.created', 'actor=operator'].map((query) =>
    line('GET /v1/activity', () => ({ path: `/v1/activity?${query}` }), query),
  ),
  line('GET /v1/activity', (a) => ({ path: `/v1/activity?target=${a.agent.id}` }), 'target'),
  line('GET /v1/activity', (a) => ({ path: `/v1/activity?target=${a.webhook}` }), 'a rare target'),
  line('GET /v1/activity', (a) => ({ path: `/v1/activity?actor=${a.member}` }), 'a rare actor'),
];

const HISTOGRAM: Line[] = [
  line('GET /v1/audit/histogram', (a) => ({ path: `/v1/audit/histogram?${spanOf(a)}` })),
];

const RECEIVERS: Line[] = [
  line('GET /v1/webhooks', () => ({ path: '/v1/webhooks' })),
  line('POST /v1/webhooks', () => ({
    path: '/v1/webhooks',
    body: { url: 'https://hooks.example.com/' },
  })),
  line('GET /v1/webhooks/:id', (a) => ({ path: `/v1/webhooks/${a.webhook}` })),
  line('PUT /v1/webhooks/:id', (a) => ({
    path: `/v1/webhooks/${a.webhook}`,
    body: { description: newName() },
  })),
  line(
    'PUT /v1/webhooks/:id',
    (a) => ({
      path: `/v1/webhooks/${a.webhook}`,
      body: { is_active: true, url: 'https://other.example.com/' },
    }),
    'url',
  ),
  line('DELETE /v1/webhooks/:id', async (a) => ({ path: await newWebhook(a) })),
  line('POST /v1/webhooks/:id/rotate-secret', (a) => ({
    path: `/v1/webhooks/${a.webhook}/rotate-secret`,
  })),
  line('POST /v1/webhooks/:id/test', (a) => ({ path: `/v1/webhooks/${a.webhook}/test` })),
  ...['', 'status=failed', 'status=succeeded', 'status=pending'].map((query) =>
    line(
      'GET /v1/webhooks/:id/deliveries',
      (a) => ({ path: `/v1/webhooks/${a.webhook}/deliveries?${query}` }),
      query,
    ),
  ),
  line('GET /v1/webhooks/:id/deliveries/:delivery_id', (a) => ({
    path: `/v1/webhooks/${a.webhook}/deliveries/${a.delivery}`,
  })),
  line('POST /v1/webhooks/:id/deliveries/:delivery_id/redeliver', (a) => ({
    path: `/v1/webhooks/${a.webhook}/deliveries/${a.delivery}/redeliver`,
  })),
  line('GET /v1/connections', () => ({ path: '/v1/connections' })),
  line('POST /v1/connections', (a) => ({
    path: '/v1/connections',
    body: {
      name: newName(),
      base_url: 'https://mail.example.com',
      auth: { type: 'header' },
      secret: 'secret',
      agent_ids: [a.agent.id],
    },
  })),
  line('GET /v1/connections/:id/reads', (a) => ({
    path: `/v1/connections/${a.connection}/reads?days=31`,
  })),
  line('GET /v1/connections/:id', (a) => ({ path: `/v1/connections/${a.connection}` })),
  line('PUT /v1/connections/:id', (a) => ({
    path: `/v1/connections/${a.connection}`,
    body: { name: newName(), base_url: 'https://other.example.com', is_active: false },
  })),
  line('DELETE /v1/connections/:id', async (a) => ({ path: await newConnection(a) })),
  // The connection is switched off by now, so that nothing is sent.
  line('POST /v1/connections/:id/test', (a) => ({
    path: `/v1/connections/${a.connection}/test`,
    body: { path: '/' },
    status: 403,
  })),
  ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) =>
    line(`${method} /v1/connections/:id/proxy/*`, (a) =>
      byAgent(a, {
        path: `/v1/connections/${a.asking}/proxy/mails?to=${newName()}`,
        status: 403,
      }),
    ),
  ),
  line('GET /v1/channels', () => ({ path: '/v1/channels' })),
  line('POST /v1/channels', () => ({
    path: '/v1/channels',
    body: { kind: 'email', name: 'Mail' },
  })),
  line('GET /v1/channels/:id', (a) => ({ path: `/v1/channels/${a.channel}` })),
  line('PUT /v1/channels/:id', (a) => ({
    path: `/v1/channels/${a.channel}`,
    body: { name: newName() },
  })),
  line('DELETE /v1/channels/:id', async (a) => ({ path: await newChannel(a) })),
  line('POST /v1/channels/:id/test', (a) => ({ path: `/v1/channels/${a.channel}/test` })),
  line('GET /v1/channels/:id/deliveries', (a) => ({
    path: `/v1/channels/${a.channel}/deliveries`,
  })),
  line('GET /v1/channels/:id/deliveries/:delivery_id', (a) => ({
    path: `/v1/channels/${a.channel}/deliveries/${a.message}`,
  })),
  line('POST /v1/channels/:id/deliveries/:delivery_id/redeliver', (a) => ({
    path: `/v1/channels/${a.channel}/deliveries/${a.message}/redeliver`,
  })),
  line('POST /v1/inbound/:secret/slack', () => ({
    path: `/v1/inbound/00${'x'.repeat(32)}/slack`,
    token: null,
    status: 404,
  })),
];

const MCP: Line[] = [
  tool('get_permission', 'agent', (a) => ({ permission_id: a.used })),
  tool('list_my_permissions', 'agent', () => ({})),
  tool('list_pending', 'user', () => ({})),
  tool('report_outcome', 'agent', async (a) => ({
    permission_id: await useWithPromise(a, a.agent.key),
    status: 'succeeded',
  })),
  tool('request_permission', 'agent', () => ({ ...REVIEWED, external_id: newName() })),
  tool('search_audit', 'user', () => ({})),
  tool('simulate_policy', 'user', (a) => ({
    agent_id: a.agent.id,
    action: REVIEWED.action,
    resource: REVIEWED.resource,
  })),
  tool('use_token', 'agent', (a) => ({
    permission_id: a.used,
    action: ASKED.action,
    resource: ASKED.resource,
  })),
  tool('wait_for_decision', 'agent', (a) => ({ permission_id: a.used, seconds: 0 })),
];

const CONSOLE: Line[] = [
  page('/console'),
  page('/console?order=newest'),
  page('/console?for=others'),
  page((a) => `/console?agent_id=${a.agent.id}`, '/console?agent_id'),
  page('/console?status=denied'),
  page('/console?outcome=unknown'),
  page('/console?decided_by=me'),
  page((a) => `/console/permissions/${a.reviewed}`, '/console/permissions/:id'),
  page((a) => `/console/permissions/${a.used}`, '/console/permissions/:id?decided'),
  page('/console/agents'),
  page('/console/agents/new'),
  page((a) => `/console/agents/${a.agent.id}`, '/console/agents/:id'),
  page((a) => `/console/agents/${a.agent.id}/first-request`, '/console/agents/:id/first-request'),
  page('/console/exports'),
  page('/console/exports/new'),
  page('/console/reports'),
  page('/console/reports/new'),
  page('/console/webhooks'),
  page('/console/webhooks/new'),
  page((a) => `/console/webhooks/${a.webhook}`, '/console/webhooks/:id'),
  page((a) => `/console/webhooks/${a.webhook}/edit`, '/console/webhooks/:id/edit'),
  page(
    (a) => `/console/webhooks/${a.webhook}/deliveries/${a.delivery}`,
    '/console/webhooks/:id/deliveries/:delivery_id',
  ),
  page('/console/connections'),
  page('/console/connections/new'),
  page((a) => `/console/connections/${a.connection}`, '/console/connections/:id'),
  page((a) => `/console/connections/${a.connection}/edit`, '/console/connections/:id/edit'),
  page('/console/channels'),
  page('/console/channels/new'),
  page((a) => `/console/channels/${a.channel}`, '/console/channels/:id'),
  page((a) => `/console/channels/${a.channel}/edit`, '/console/channels/:id/edit'),
  page(
    (a) => `/console/channels/${a.channel}/deliveries/${a.message}`,
    '/console/channels/:id/deliveries/:delivery_id',
  ),
  page('/console/members'),
  page('/console/members/new'),
  page((a) => `/console/members/${a.member}`, '/console/members/:id'),
  page('/console/activity'),
  page('/console/me'),
  page('/console/stop'),
  page('/console/me/tokens/new'),
  line('GET /console/csrf-token', ({ cookie }) => ({
    path: '/console/csrf-token',
    cookie,
    // Only the script of a page that was kept gets it.
    status: 403,
  })),
  page('/console/policies'),
  page(
    (a) =>
      `/console/policies?agent_id=${a.agent.id}&action=${REVIEWED.action}&resource=${REVIEWED.resource}`,
    '/console/policies?simulation',
  ),
  page('/console/policies/new'),
  page((a) => `/console/policies/${a.policy}`, '/console/policies/:id'),
  page((a) => `/console/audit/members/${a.member}`, '/console/audit/members/:id'),
  page((a) => `/console/audit/${a.entry}`, '/console/audit/:id'),
  page((a) => `/console/audit/${a.entry}/entry`, '/console/audit/:id/entry'),
  page((a) => `/console/audit/${a.entry}/proof`, '/console/audit/:id/proof'),
  page(() => '/console/waiting', '/console/waiting'),
  page('/console/me/push'),
  page((a) => `/console/permissions/${a.reviewed}/contents`, '/console/permissions/:id/contents'),
  page((a) => `/console/permissions/${a.reviewed}/receipt`, '/console/permissions/:id/receipt'),
  page((a) => `/console/permissions/${a.reviewed}/state`, '/console/permissions/:id/state'),
  page((a) => a.invitation, '/console/invitations/:secret'),
  page(
    () =>
      `/console/pair?${new URLSearchParams({ redirect_uri: 'http://127.0.0.1:1/', state: 'x', code_challenge: 'v'.repeat(43), code_challenge_method: 'S256' })}`,
    '/console/pair',
  ),
];

/**
 * Every line. Those of a group run one after the other, so that an earlier one may change what a
 * later one finds.
 */
export const LINES: Line[] = [
  ...SERVICE,
  ...OPERATOR,
  ...ACCOUNT,
  ...AGENTS,
  ...PERMISSION_LINES,
  ...AUDIT,
  ...HISTOGRAM,
  ...REPLAYS,
  ...RECEIVERS,
  ...MCP,
  ...CONSOLE,
  page('/console/audit'),
  ...['resource=mailbox:none', 'scope_min=1000', 'action=mail.send&resource=none:*'].map(
    (query) => ({
      ...page(`/console/audit?${query}`),
      most: MOST_OF_SEARCH,
    }),
  ),
  {
    ...page((a) => `/console/audit?decided_by=${a.member}`, '/console/audit?decided_by'),
    most: MOST_OF_SEARCH,
  },
  { ...page('/console/audit?resource=none&part=further'), most: MOST_OF_SEARCH },
  ...END,
];

/**
 * Routes that read no row of an account, or an amount that a limit of their own bounds, and that
 * need what a local service has not.
 */
export const WITHOUT_LINES: Record<string, string> = {
  'GET /': 'a redirect',
  'GET /docs': 'a file',
  'GET /docs/guides': 'a file',
  'GET /docs/guides/': 'a file',
  'GET /docs/guides/:name': 'a file',
  'GET /docs/:version/:file': 'a file',
  'GET /console/assets/:file': 'a file',
  'GET /console/sign-in': 'a form',
  'GET /console/oidc/callback': 'needs an identity provider',
  'GET /console/me/email': 'needs the signed link of a mail',
  'GET /console/slack/link': 'needs Slack',
  'POST /mcp/': 'is POST /mcp',
  'GET /mcp/oauth/authorize': 'a redirect',
  'POST /mcp/oauth/register': 'always refused',
  'POST /mcp/oauth/token': 'always refused',
};
