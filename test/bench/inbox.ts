import { DatabaseSync } from 'node:sqlite';
import { idBytes, parseId } from '../../src/lib/typeid.ts';
import { Client } from '../support/local/client.ts';
import { databaseFile, prepareState, startService } from '../support/local/service.ts';
import { createTenant, type Tenant } from '../support/local/tenant.ts';
import { mostTimes, type Page, printPages, readPages } from './console-pages.ts';
import type { Report } from './report.ts';

const LARGE = 10_000;
const SMALL = 100;
const MAX_TRIPS = 2;
const MAX_READ = 500;
/** The small inbox has 100 times fewer requests. */
const MAX_FACTOR = 2;

/** Reads every kind of page of the inbox of an account in which 10,000 requests wait, and of one with a hundred. */
export async function measureInbox(report: Report, state: string): Promise<void> {
  report.heading(`The console's inbox with ${LARGE.toLocaleString('en')} waiting requests, beside one with ${SMALL}`);
  await prepareState(state);
  const first = await startService(state);
  const [large, small] = [await makeRequest(first.origin), await makeRequest(first.origin)];
  await first.stop();
  const database = new DatabaseSync(databaseFile(state));
  copyRequest(database, large, LARGE);
  copyRequest(database, small, SMALL);
  database.close();
  const service = await startService(state);
  try {
    const figures = {
      large: await readPages(service.origin, large.tenant, pagesOf(large)),
      small: await readPages(service.origin, small.tenant, pagesOf(small)),
    };
    printPages(report, figures);
    const all = [...figures.large.values()];
    report.atMost(MAX_TRIPS, Math.max(...all.map(({ trips }) => trips)), 'the most round trips of a page');
    report.atMost(MAX_READ, Math.max(...all.map(({ read }) => read)), 'the most rows that a page reads');
    report.atMost(MAX_FACTOR, mostTimes(figures), 'how many times the rows of the small inbox a page reads at most');
  } finally {
    await service.stop();
  }
}

interface Inbox {
  tenant: Tenant;
  request: string;
}

/** Creates an account with two agents, one of which requests a permission. */
async function makeRequest(origin: string): Promise<Inbox> {
  const tenant = await createTenant(origin, 'enterprise', 2);
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

/** Copies a waiting request within its account, so that `count` wait. */
function copyRequest(database: DatabaseSync, { request }: Inbox, count: number): void {
  const id = parseId('perm', request);
  if (!id) throw new Error(`${request} is no id of a permission`);
  const columns = database.prepare("select name from pragma_table_info('permissions')").all() as { name: string }[];
  const copied = columns.map(({ name }) => (name === 'id' ? 'randomblob(16)' : `p.${name}`)).join(', ');
  database
    .prepare(
      `with recursive n (i) as (values (1) union all select i + 1 from n where i < ?)
       insert into permissions select ${copied} from permissions as p, n where p.id = ?`,
    )
    .run(count - 1, idBytes(id));
}

function pagesOf({ tenant }: Inbox): Page[] {
  const [agent, other] = tenant.agents;
  return [
    ['what ends first', '/console'],
    ['the newest', '/console?order=newest'],
    ['the live part', '/console?part=list'],
    ['of an agent', `/console?agent_id=${agent?.id}`],
    ['of an agent that asks nothing', `/console?agent_id=${other?.id}`],
    ['the denied', '/console?status=denied'],
  ];
}
