import { fillAccount, type Size } from './fill.ts';
import { type Answer, type Call, type GrowthService, type Json, send } from './service.ts';

/** An account whose costs are measured, with one of everything that its calls name. */
export interface GrowthAccount {
  service: GrowthService;
  id: string;
  /** A user token of the account's owner. */
  token: string;
  /** The cookie of a session of the console. */
  cookie: string;
  agent: { id: string; key: string };
  /** The day on which it was made, which has all of its entries. */
  today: string;
  policy: string;
  webhook: string;
  delivery: string;
  channel: string;
  connection: string;
  /** A connection that asks for every POST, and refuses all else. */
  asking: string;
  message: string;
  export: string;
  download: string;
  report: string;
  member: string;
  /** The address of an invitation. */
  invitation: string;
  /** An audit entry that is sealed. */
  entry: string;
  /** A permission with a review that waits, and one whose token was used. */
  reviewed: string;
  used: string;
  /** Tokens that can be used. */
  tokens: string[];
  /** Waiting requests without a review. */
  pending: string[];
  must(method: string, path: string, body?: object, call?: Partial<Call>): Promise<Json>;
}

/** What the agent asks for: without a policy, with a review policy, and within a budget. */
export const ASKED = {
  action: 'mail.send',
  resource: 'mailbox:support',
  scope: { max: 5 },
  expires_in: 604_800,
};
export const REVIEWED = { ...ASKED, action: 'payment.send' };
export const BUDGETED = { ...ASKED, action: 'refund.send' };
/** Two of the members with these roles review payments. */
export const REVIEW_POLICY = {
  name: 'Payments',
  effect: 'review',
  actions: ['payment.*'],
  resources: ['*'],
  review: { approvals: 2, roles: ['approver', 'admin', 'owner'], allow_self: true },
};

/** It has room for every request of the table. */
const BUDGET_POLICY = {
  name: 'Refunds',
  effect: 'approve',
  actions: ['refund.*'],
  resources: ['*'],
  budget: { per: 'total', requests: 1_000_000, sum: { key: 'max', max: 1_000_000 } },
};

/**
 * How many requests of an account are approved, denied or withdrawn. A copy of a request cannot be
 * approved.
 */
const PENDING = 4;

/** The requests for a file and for a report of one day. */
export const exportOf = (day: string) => ({ start_date: day, end_date: day });
export const reportOf = (day: string) => ({
  report_type: 'gdpr',
  period: { start: day, end: day },
  format: 'json',
});

const CONTENTS = { input: { to: 'ada@example.com' }, preview: { title: 'Reply to ticket 4711' } };

/** Makes an account with one of everything through the API, and fills it up to a size. */
export async function makeGrowthAccount(
  service: GrowthService,
  size: Size,
): Promise<GrowthAccount> {
  const operator = { token: service.operatorToken };
  const email = `${crypto.randomUUID()}@example.com`;
  const { body: created } = await send(service, 'POST', {
    ...operator,
    path: '/v1/admin/users',
    body: { email, plan: 'enterprise' },
  });
  const token = created.token.token as string;
  const call = (
    method: string,
    path: string,
    body?: object,
    more: Partial<Call> = {},
  ): Promise<Answer> => send(service, method, { token, path, ...(body && { body }), ...more });
  const must: GrowthAccount['must'] = async (...args) => (await call(...args)).body;
  const invite = (role: string) =>
    must('POST', '/v1/members', { email: `${crypto.randomUUID()}@example.com`, role });
  const members = [await invite('approver'), await invite('approver'), await invite('auditor')];
  const invited = await invite('developer');
  const number = await activateMembers(service);
  const agent = await makeAgent(must);
  const other = await makeAgent(must);

  const policy = await must('POST', '/v1/policies', REVIEW_POLICY);
  await must('POST', '/v1/policies', BUDGET_POLICY);
  const webhook = await must('POST', '/v1/webhooks', { url: 'https://hooks.example.com/' });
  const delivery = await must('POST', `/v1/webhooks/${webhook.id}/test`);
  const connection = await must('POST', '/v1/connections', {
    name: 'Mail',
    base_url: 'https://mail.example.com',
    agent_ids: [agent.id, other.id],
  });
  const asking = await must('POST', '/v1/connections', {
    name: 'Asking',
    base_url: 'https://mail.example.com',
    rules: [{ methods: ['POST'], effect: 'ask' }],
    agent_ids: [agent.id],
    wait: 0,
  });
  const channel = await must('POST', '/v1/channels', { kind: 'email', name: 'Mail to reviewers' });
  const message = await must('POST', `/v1/channels/${channel.id}/test`);

  const ask = (fields: object, key = agent.key) =>
    must('POST', '/v1/permissions', fields, { token: key });
  const approved = async (fields: object) => {
    const { id } = await ask({ ...ASKED, ...fields });
    await must('POST', `/v1/permissions/${id}/approve`);
    return must('GET', `/v1/permissions/${id}`, undefined, { token: agent.key });
  };
  await ask({ ...ASKED, ...CONTENTS });
  await ask(ASKED, other.key);
  const reviewed = await ask({ ...REVIEWED, ...CONTENTS });
  await must('POST', `/v1/permissions/${(await ask(ASKED)).id}/deny`);
  await must('POST', `/v1/permissions/${(await ask(ASKED)).id}/withdraw`, undefined, {
    token: agent.key,
  });
  const series = { requests: 1_000, expires_in: 604_800 };
  const first = await ask({ ...ASKED, resource: 'mailbox:series', series });
  await must('POST', `/v1/permissions/${first.id}/approve`, { series });
  await must('DELETE', `/v1/permissions/${first.id}/series`);
  const used = await approved({ max_uses: 2, external_id: 'first' });
  await must('POST', '/v1/tokens/use', { token: used.token.value });
  for (const status of ['failed', 'unknown', 'succeeded']) {
    const { id, token: granted } = await approved({ reports_outcome: true });
    await must('POST', '/v1/tokens/use', { token: granted.value });
    await must('POST', `/v1/permissions/${id}/outcome`, { status });
  }
  await service.run([
    `update permissions set connection_id =
       (select id from connections where account = ${number} and name = 'Mail')
     where account = ${number} and status in (2, 3)`,
    `insert into connection_calls
     select account, connection_id, agent, randomblob(33), id, 'sha-256:' from permissions
     where account = ${number} and connection_id is not null`,
    `insert into connection_reads
     select account, id, (select max(number) from agents where account = ${number}), 20000, 1
     from connections where account = ${number}`,
  ]);
  await approved({ max_uses: 5, token_ttl: 604_800 });
  await must(
    'PUT',
    `/v1/agents/${agent.id}`,
    { name: 'Renamed' },
    { headers: { 'Idempotency-Key': 'first' } },
  );

  const today = (created.created_at as string).slice(0, 10);
  const exported = await must('POST', '/v1/audit/export', exportOf(today));
  const reported = await must('POST', '/v1/audit/reports/compliance', reportOf(today));
  await service.work();
  const file = await must('GET', `/v1/audit/export/${exported.export_id}`);
  const [entry] = (await must('GET', '/v1/audit?order=asc&limit=1')).data;

  await fillAccount(service, number, size);
  const listed = async (query: string, key = token) =>
    (await must('GET', `/v1/permissions?limit=100&${query}`, undefined, { token: key })).data;
  const active = (await listed('status=approved', agent.key)).filter(
    (each: Json) => each.token.status === 'active',
  );
  const pending: Json[] = [];
  for (let i = 0; i < PENDING; i++) pending.push(await ask(ASKED));
  const { headers } = await send(service, 'POST', {
    path: '/console/sign-in/token',
    form: { token },
    headers: { Origin: service.origin },
  });
  // Some pages are for people who signed in themselves.
  await service.run([
    `update sessions set token = null, member = (select id from members where account = ${number} and role = 0)
     where account = ${number}`,
  ]);
  return {
    ...{ service, id: created.id, token, agent, today, must },
    cookie: (headers.get('Set-Cookie') ?? '').split(';')[0] ?? '',
    ...{
      policy: policy.id,
      webhook: webhook.id,
      delivery: delivery.id,
      channel: channel.id,
      connection: connection.id,
      asking: asking.id,
      message: message.id,
    },
    ...{ export: exported.export_id, report: reported.report_id },
    download: new URL(file.download_url).pathname + new URL(file.download_url).search,
    ...{
      member: members[1].id,
      invitation: new URL(invited.invitation.url).pathname,
      entry: entry.id,
    },
    ...{ reviewed: reviewed.id, used: used.id },
    tokens: active.map((each: Json) => each.token.value),
    pending: pending.map((each: Json) => each.id),
  };
}

async function makeAgent(must: GrowthAccount['must']) {
  const { id, api_key: key } = await must('POST', '/v1/agents', { name: 'Mailer' });
  return { id: id as string, key: key as string };
}

/**
 * Makes all members of the newest account active but the developer, and its user token one of its
 * owner. Returns the account's number.
 */
async function activateMembers(service: GrowthService): Promise<number> {
  const newest = '(select max(number) from accounts)';
  const rows = await service.run([
    `update members set status = 1, active_since = created_at - 1000, invitation_hash = null
     where account = ${newest} and role <> 3`,
    `update user_tokens set member = (select id from members where account = ${newest} and role = 0)
     where account = ${newest}`,
    `select ${newest} as number`,
  ]);
  return rows[0].number;
}
