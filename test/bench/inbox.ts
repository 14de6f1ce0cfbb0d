import { DatabaseSync } from 'node:sqlite';
import { idBytes, parseId } from '../../src/lib/typeid.ts';
import { Client } from '../support/local/client.ts';
import { databaseFile, prepareState, startService } from '../support/local/service.ts';
import { createTenant, type Tenant } from '../support/local/tenant.ts';
import { mostTimes, type Page, printPages, readPages } from './console-pages.ts';
import type { Report } from './report.ts';

const LARGE = 10_000;
const SMALL = 100;
/** How many requests of one agent may wait. */
const OF_AGENT = 1_000;
/** The agent that asks, one that asks nothing, and those that have the other requests. */
const AGENTS = 1 + LARGE / OF_AGENT;
const MAX_TRIPS = 2;
const MAX_READ = 500;
/** The most rows of the page of what ends first of an agent: it sorts all that wait of it. */
const MAX_SORTING = 1_500;
/**
 * The most rows of a page that looks for the few requests that wait for the reader: it examines
 * 1,000, each with its agent and its review, and the reader's own row.
 */
const MAX_EXAMINING = 6_500;
/** The small inbox has 100 times fewer requests. */
const MAX_FACTOR = 2;

/**
 * Reads every kind of page of the inbox of an account in which 10,000 requests wait for the reader,
 * and of one with a hundred; then of a member who reviews 3 of 10,000.
 */
export async function measureInbox(report: Report, state: string): Promise<void> {
  report.heading(
    `The console's inbox with ${LARGE.toLocaleString('en')} waiting requests, beside one with ${SMALL}`,
  );
  await prepareState(state);
  const first = await startService(state);
  const [large, small] = [await makeRequest(first.origin), await makeRequest(first.origin)];
  const reviewer = await makeReviewer(first.origin);
  await first.stop();
  const database = new DatabaseSync(databaseFile(state));
  copyRequest(database, large, LARGE);
  copyRequest(database, small, SMALL);
  copyRequest(database, reviewer, LARGE);
  addReviews(database);
  makeTokenOfOwner(database, reviewer);
  database.close();
  const service = await startService(state);
  try {
    const figures = {
      large: await readPages(service.origin, large.tenant, pagesOf(large)),
      small: await readPages(service.origin, small.tenant, pagesOf(small)),
    };
    printPages(report, figures);
    const ofReviewer = await readPages(service.origin, reviewer.tenant, PAGES_OF_REVIEWER);
    for (const [page, { trips, read, milliseconds }] of ofReviewer) {
      report.note(`${page.padEnd(28)} ${trips} trips, ${read} rows, ${milliseconds} ms`);
    }
    const examining = [...ofReviewer.values()];
    report.atMost(
      MAX_TRIPS,
      Math.max(...examining.map(({ trips }) => trips)),
      'the most round trips for a reviewer',
    );
    report.atMost(
      MAX_EXAMINING,
      Math.max(...examining.map(({ read }) => read)),
      'the most rows read for a reviewer',
    );
    const sorted = figures.large.get(SORTED);
    figures.large.delete(SORTED);
    report.atMost(
      MAX_SORTING,
      sorted?.read ?? Number.NaN,
      'the rows read for what ends first of an agent',
    );
    const all = [...figures.large.values()];
    report.atMost(
      MAX_TRIPS,
      Math.max(...all.map(({ trips }) => trips)),
      'the most round trips of a page',
    );
    report.atMost(
      MAX_READ,
      Math.max(...all.map(({ read }) => read)),
      'the most rows that a page reads',
    );
    report.atMost(
      MAX_FACTOR,
      mostTimes(figures),
      'how many times the rows of the small inbox a page reads at most',
    );
  } finally {
    await service.stop();
  }
}

interface Inbox {
  tenant: Tenant;
  request: string;
}

/** Creates an account with agents, the first of which requests a permission. */
async function makeRequest(origin: string): Promise<Inbox> {
  const tenant = await createTenant(origin, 'enterprise', AGENTS);
  const [agent] = tenant.agents;
  const body = {
    action: 'mail.send',
    resource: 'mailbox:support',
    scope: { max_recipients: 5 },
    expires_in: 86_400,
    preview: { title: 'Reply to ticket 4711' },
  };
  const answer = await new Client(origin, agent?.key ?? '').expect<{ id: string }>(
    201,
    'POST',
    '/v1/permissions',
    body,
  );
  return { tenant, request: answer.body.id };
}

/**
 * Creates an account whose owner reviews three requests; a deploy waits, which will get reviews by
 * admins.
 */
async function makeReviewer(origin: string): Promise<Inbox> {
  const tenant = await createTenant(origin, 'enterprise', AGENTS);
  const ask = async (
    agent: Tenant['agents'][number] | undefined,
    action: string,
    expires_in: number,
  ) => {
    const body = { action, resource: 'service:web', scope: { replicas: 5 }, expires_in };
    const client = new Client(origin, agent?.key ?? '');
    return (await client.expect<{ id: string }>(201, 'POST', '/v1/permissions', body)).body.id;
  };
  const [deployer, mailer] = tenant.agents;
  for (let i = 0; i < 3; i++) await ask(mailer, 'mail.send', 86_400);
  return { tenant, request: await ask(deployer, 'deploy.start', 3_600) };
}

/** Lets admins review every deploy. The account has none, so no policy of the API can say this. */
function addReviews(database: DatabaseSync): void {
  const rule = {
    approvals: 1,
    members: null,
    roles: [ADMIN],
    passkey: false,
    allow_self: false,
    escalation: null,
  };
  database
    .prepare(
      `insert into reviews (account, id, policy_id, policy_updated_at, rule, proposed_scope, proposed_token_ttl, proposed_max_uses)
       select account, id, 'policy_01kg9ys7g0ebg93cq6e5rf4rwc', 0, ?, scope, token_ttl, max_uses
       from permissions where action = 'deploy.start'`,
    )
    .run(JSON.stringify(rule));
}

/** The code of the role in the database. */
const ADMIN = 1;

/** Makes the owner of an account active, and the account's token the owner's. */
function makeTokenOfOwner(database: DatabaseSync, { tenant }: Inbox): void {
  const id = parseId('user', tenant.id);
  const account = '(select number from accounts where id = ?)';
  // The code of `active` is 1.
  const active = 'status = 1, active_since = created_at, invitation_hash = null';
  database
    .prepare(`update members set ${active} where account = ${account}`)
    .run(id && idBytes(id));
  database
    .prepare(
      `update user_tokens set member = (select id from members where members.account = user_tokens.account)
       where account = ${account}`,
    )
    .run(id && idBytes(id));
}

/**
 * Copies a waiting request within its account, so that `count` wait: as many as may of its agent,
 * the others of the agents after the second.
 */
function copyRequest(database: DatabaseSync, { request }: Inbox, count: number): void {
  const id = parseId('perm', request);
  if (!id) throw new Error(`${request} is no id of a permission`);
  const columns = database.prepare("select name from pragma_table_info('permissions')").all() as {
    name: string;
  }[];
  const values: Record<string, string> = {
    id: 'randomblob(16)',
    agent: `p.agent + iif(n.i < ${OF_AGENT}, 0, 1 + n.i / ${OF_AGENT})`,
    last_entry: 'p.last_entry + n.i',
  };
  const copied = columns.map(({ name }) => values[name] ?? `p.${name}`).join(', ');
  database
    .prepare(
      `with recursive n (i) as (values (1) union all select i + 1 from n where i < ?)
       insert into permissions select ${copied} from permissions as p, n where p.id = ?`,
    )
    .run(count - 1, idBytes(id));
}

const SORTED = 'of an agent';

/** The inbox of a member who reviews few of the requests that wait. */
const PAGES_OF_REVIEWER: Page[] = [
  ['few wait for the reader', '/console'],
  ['few of the newest do', '/console?order=newest'],
  ['what waits for others', '/console?for=others'],
];

function pagesOf({ tenant }: Inbox): Page[] {
  const [agent, other] = tenant.agents;
  return [
    ['what ends first', '/console'],
    ['the newest', '/console?order=newest'],
    ['the live part', '/console?part=list'],
    [SORTED, `/console?agent_id=${agent?.id}`],
    ['the newest of an agent', `/console?order=newest&agent_id=${agent?.id}`],
    ['of an agent that asks nothing', `/console?agent_id=${other?.id}`],
    ['the denied', '/console?status=denied'],
  ];
}
