import type { Child } from 'hono/jsx';
import { PERMISSION_STATUSES, type PermissionStatus } from '../../db/schema';
import { listPermissions } from '../../permissions/list';
import { listWaiting, type WaitingOrder } from '../../permissions/list-waiting';
import { isWithdrawn, type Permission } from '../../permissions/permission';
import { agentsOf, loadNames, type Names } from '../frame/names';
import { firstSection } from '../frame/navigation';
import { sendPage, sendPart } from '../frame/page';
import { usePage } from '../frame/page-context';
import { Empty, NextPage, PAGE_SIZE, Tabs, withParameters } from '../parts/blocks';
import { Form, ListFilter, TextField } from '../parts/form';
import { Named, Time } from '../parts/inline';
import { LivePart } from '../parts/live';
import { RequestRow } from '../parts/request';
import { type ConsoleContext, requireScopes } from '../session/access';
import { Keys } from './keys';
import { WaitingList } from './waiting-list';

/** What a request has done that has the status. */
const ENDED: Record<PermissionStatus, string> = {
  pending: 'waited',
  approved: 'been approved',
  denied: 'been denied',
  expired: 'expired',
};

/** How often the inbox looks for new requests, in seconds. */
const INTERVAL = 10;

const VIEWS: readonly [status: PermissionStatus, label: string][] = [
  ['pending', 'Waiting'],
  ['approved', 'Approved'],
  ['denied', 'Denied'],
  ['expired', 'Expired'],
];

/**
 * Shows the requests that wait, the most urgent first; with a `status`, those that have ended, the newest first. Sends
 * those who may not read requests, and who just signed in, to the first page that they may see.
 */
export async function showInbox(c: ConsoleContext): Promise<Response> {
  const { scopes } = c.var.signedIn.context.principal;
  if (!scopes.includes('permissions:read')) {
    if (new URL(c.req.url).search === '') return c.redirect(firstSection(scopes).path);
    requireScopes(c.var.signedIn.context.principal, 'permissions:read');
  }
  const status = PERMISSION_STATUSES.find((status) => status === c.req.query('status')) ?? 'pending';
  return status === 'pending' ? showWaiting(c) : showDecided(c, status);
}

/** The filters in the address of the page. Empty ones, which an untouched form sends, count as absent. */
function readFilters(c: ConsoleContext) {
  const read = (name: string) => c.req.query(name) || undefined;
  return { agent_id: read('agent_id'), cursor: read('cursor') };
}

async function showWaiting(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const filters = readFilters(c);
  const order = c.req.query('order') === 'newest' ? 'newest' : 'urgent';
  const [page, names] = await Promise.all([
    listWaiting(context, { limit: PAGE_SIZE, ...filters, order }),
    loadNames(context, ['people', 'agents', 'policies']),
  ]);
  const address = new URL(c.req.url);
  const mayDecide = context.principal.scopes.includes('permissions:decide');
  const mine = mayDecide ? page.data.filter(({ standing }) => standing === 'decide').length : 0;
  const count = `${mine}${page.has_more ? '+' : ''}`;
  const list = (
    <LivePart
      id="waiting"
      source={withParameters(address, { part: 'list' })}
      seconds={INTERVAL}
      title={inboxTitle(count)}
    >
      {page.data.length === 0 ? (
        <Nothing isFiltered={filters.agent_id !== undefined || filters.cursor !== undefined} />
      ) : (
        <>
          <p class="soft">
            {mine === 0 ? 'None of these waits for you.' : `${count} ${mine === 1 ? 'waits' : 'wait'} for you.`}{' '}
            <Order order={order} address={address} />
          </p>
          <WaitingList requests={page.data} member={context.principal.member?.id ?? null} />
        </>
      )}
    </LivePart>
  );
  if (c.req.query('part') === 'list') return sendPart(c, list, names);
  const more = <NextPage page={page} address={address} label="Next requests" />;
  return sendInbox(c, 'pending', { title: inboxTitle(count), names, list, more });
}

/** Says in which order the requests are, with a link to the other one. */
function Order({ order, address }: { order: WaitingOrder; address: URL }) {
  const other = (order: string | null) => withParameters(address, { order, cursor: null, part: null });
  return order === 'newest' ? (
    <>
      The newest is at the top. <a href={other(null)}>Show the most urgent first</a>
    </>
  ) : (
    <>
      The one that expires first is at the top. <a href={other('newest')}>Show the newest first</a>
    </>
  );
}

function inboxTitle(count: string): string {
  return count === '0' ? 'Inbox' : `(${count}) Inbox`;
}

async function showDecided(c: ConsoleContext, status: PermissionStatus): Promise<Response> {
  const { context } = c.var.signedIn;
  const filters = readFilters(c);
  const [page, names] = await Promise.all([
    listPermissions(context, { limit: PAGE_SIZE, status, ...filters }),
    loadNames(context, ['people', 'agents', 'policies']),
  ]);
  const list =
    page.data.length === 0 ? (
      <Empty title={`No request ${filters.agent_id ? 'of this agent ' : ''}has ${ENDED[status]} yet.`} />
    ) : (
      <ul class="requests">
        {page.data.map((permission) => (
          <DecidedRow permission={permission} />
        ))}
      </ul>
    );
  const more = <NextPage page={page} address={new URL(c.req.url)} />;
  return sendInbox(c, status, { title: `Inbox: ${status}`, names, list, more });
}

/** A request that has ended: what it was, who decided, and when. */
function DecidedRow({ permission }: { permission: Permission }) {
  const { agent_id, decided_by, policy_id, decided_at, updated_at, expires_at } = permission;
  const by = policy_id ?? decided_by;
  return (
    <RequestRow request={permission} agent={<Named id={agent_id} />}>
      {by && ['by ', policy_id && 'the policy “', <Named id={by} />, policy_id && '”', ', ']}
      <Time at={decided_at ?? (isWithdrawn(permission) ? updated_at : expires_at)} />
    </RequestRow>
  );
}

/** Answers with the requests of one status, and the ways to others. */
function sendInbox(
  c: ConsoleContext,
  status: PermissionStatus,
  { title, names, list, more }: { title: string; names: Names; list: Child; more: Child },
): Response {
  const address = new URL(c.req.url);
  return sendPage(c, {
    title,
    names,
    heading: 'Inbox',
    children: (
      <>
        <Tabs
          label="Requests by state"
          tabs={VIEWS}
          current={status}
          address={(view) => withParameters(address, { status: view === 'pending' ? null : view, cursor: null })}
        />
        <AgentFilter address={address} current={readFilters(c).agent_id} />
        {list}
        {more}
        <Keys />
      </>
    ),
  });
}

/** Limits the list to one agent. */
function AgentFilter({ address, current }: { address: URL; current: string | undefined }) {
  const agents = agentsOf(usePage().names);
  if (agents.length < 2 && current === undefined) return null;
  return (
    <ListFilter
      action="/console"
      label="Agent"
      name="agent_id"
      current={current}
      allLabel="All agents"
      options={agents}
      otherParameters={{ status: address.searchParams.get('status'), order: address.searchParams.get('order') }}
    />
  );
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title="Nothing waits here.">
        <p>
          <a href="/console">Show everything that waits</a>
        </p>
      </Empty>
    );
  }
  if (agentsOf(usePage().names).length === 0) return <FirstSteps />;
  return (
    <Empty title="Nothing waits for a decision.">
      <p>New requests appear here by themselves.</p>
    </Empty>
  );
}

/** What an account without agents sees: how to connect the first one. */
function FirstSteps() {
  if (!usePage().may('agents:write')) {
    return (
      <Empty title="No agent is registered yet.">
        <p>Requests of agents will wait here. A developer, admin or owner of the account can register one.</p>
      </Empty>
    );
  }
  return (
    <Empty title="Connect your first agent">
      <p>
        Register it to get its key, with three lines that send a first request. The request then waits here for you.
      </p>
      <Form action="/console/agents" class="inline" creates>
        <TextField label="Name of the agent" name="name" value="My first agent" maxlength={255} required />
        <button type="submit">Register it</button>
      </Form>
    </Empty>
  );
}
