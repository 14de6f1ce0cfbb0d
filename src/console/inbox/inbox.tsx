import { PERMISSION_STATUSES, type PermissionStatus } from '../../db/schema';
import { listPermissions } from '../../permissions/list';
import { listWaiting, type WaitingOrder } from '../../permissions/list-waiting';
import type { Permission } from '../../permissions/permission';
import { batchReads } from '../frame/batched-reader';
import { loadNames, type Names } from '../frame/names';
import { firstSection } from '../frame/navigation';
import { Live, sendPage, sendPart } from '../frame/page';
import { ListFilter } from '../parts/form';
import { Empty, NextPage, withParameters } from '../parts/list';
import { isWithdrawn, RequestRow } from '../parts/request-row';
import { Named } from '../parts/text';
import { Time } from '../parts/time';
import { type ConsoleContext, requireScopes } from '../session/access';
import { FirstSteps } from './first-steps';
import { Keys } from './keys';
import { WaitingList } from './waiting-list';

/** How many requests a page of the inbox has. */
const LIMIT = 50;
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
  const { context: signedIn } = c.var.signedIn;
  const context = { ...signedIn, reader: batchReads(signedIn.reader) };
  const filters = readFilters(c);
  const order = c.req.query('order') === 'newest' ? 'newest' : 'urgent';
  const [page, names] = await Promise.all([
    listWaiting(context, { limit: LIMIT, ...filters, order }),
    loadNames(context, ['people', 'agents', 'policies']),
  ]);
  const address = new URL(c.req.url);
  const mayDecide = context.principal.scopes.includes('permissions:decide');
  const mine = mayDecide ? page.data.filter(({ standing }) => standing === 'decide').length : 0;
  const count = `${mine}${page.has_more ? '+' : ''}`;
  const isFiltered = filters.agent_id !== undefined || filters.cursor !== undefined;
  const list = (
    <Live id="waiting" address={withParameters(address, { part: 'list' })} seconds={INTERVAL} title={inboxTitle(count)}>
      {page.data.length === 0 ? (
        <Nothing isFiltered={isFiltered} isNew={!isFiltered && !hasAgents(names)} context={c.var.signedIn.context} />
      ) : (
        <>
          <p class="soft">
            {mine === 0 ? 'None of these waits for you.' : `${count} ${mine === 1 ? 'waits' : 'wait'} for you.`}{' '}
            <Order order={order} address={address} />
          </p>
          <WaitingList
            requests={page.data}
            names={names}
            now={context.runtime.now()}
            member={context.principal.member?.id ?? null}
            mayDecide={mayDecide}
          />
        </>
      )}
    </Live>
  );
  if (c.req.query('part') === 'list') return sendPart(c, list);
  return sendPage(c, {
    title: inboxTitle(count),
    heading: 'Inbox',
    children: (
      <>
        <Views current="pending" address={address} />
        <AgentFilter address={address} names={names} current={filters.agent_id} />
        {list}
        <NextPage page={page} address={address} label="Next requests" />
        <Keys />
      </>
    ),
  });
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

function hasAgents(names: Names): boolean {
  return [...names.keys()].some((id) => id.startsWith('agent_'));
}

async function showDecided(c: ConsoleContext, status: PermissionStatus): Promise<Response> {
  const { context: signedIn } = c.var.signedIn;
  const context = { ...signedIn, reader: batchReads(signedIn.reader) };
  const filters = readFilters(c);
  const [page, names] = await Promise.all([
    listPermissions(context, { limit: LIMIT, status, ...filters }),
    loadNames(context, ['people', 'agents', 'policies']),
  ]);
  const address = new URL(c.req.url);
  return sendPage(c, {
    title: `Inbox: ${status}`,
    heading: 'Inbox',
    children: (
      <>
        <Views current={status} address={address} />
        <AgentFilter address={address} names={names} current={filters.agent_id} />
        {page.data.length === 0 ? (
          <Empty title={`No request ${filters.agent_id ? 'of this agent ' : ''}is ${status}.`} />
        ) : (
          <ul class="requests">
            {page.data.map((permission) => (
              <DecidedRow permission={permission} names={names} />
            ))}
          </ul>
        )}
        <NextPage page={page} address={address} />
        <Keys />
      </>
    ),
  });
}

/** A request that has ended: what it was, who decided, and when. */
function DecidedRow({ permission, names }: { permission: Permission; names: Names }) {
  const { agent_id, decided_by, policy_id, decided_at, updated_at, expires_at } = permission;
  const by = policy_id ?? decided_by;
  return (
    <RequestRow request={permission} agent={<Named id={agent_id} names={names} />}>
      {by && (
        <>
          by {policy_id && 'the policy “'}
          <Named id={by} names={names} />
          {policy_id && '”'},{' '}
        </>
      )}
      <Time at={decided_at ?? (isWithdrawn(permission) ? updated_at : expires_at)} />
    </RequestRow>
  );
}

function Views({ current, address }: { current: PermissionStatus; address: URL }) {
  return (
    <nav class="tabs" aria-label="Requests by state">
      {VIEWS.map(([status, label]) => (
        <a
          href={withParameters(address, { status: status === 'pending' ? null : status, cursor: null })}
          aria-current={status === current ? 'page' : undefined}
        >
          {label}
        </a>
      ))}
    </nav>
  );
}

interface AgentFilterProps {
  address: URL;
  names: Names;
  current: string | undefined;
}

/** Limits the list to one agent. */
function AgentFilter({ address, names, current }: AgentFilterProps) {
  const agents = [...names].filter(([id]) => id.startsWith('agent_'));
  if (agents.length < 2 && current === undefined) return null;
  return (
    <ListFilter
      action="/console"
      label="Agent"
      name="agent_id"
      current={current}
      all="All agents"
      options={agents}
      kept={{ status: address.searchParams.get('status'), order: address.searchParams.get('order') }}
    />
  );
}

interface NothingProps {
  isFiltered: boolean;
  /** Whether the account has no agent yet. */
  isNew: boolean;
  context: ConsoleContext['var']['signedIn']['context'];
}

function Nothing({ isFiltered, isNew, context }: NothingProps) {
  if (isFiltered) {
    return (
      <Empty title="Nothing waits here.">
        <p>
          <a href="/console">Show everything that waits</a>
        </p>
      </Empty>
    );
  }
  if (isNew) return <FirstSteps context={context} />;
  return (
    <Empty title="Nothing waits for a decision.">
      <p class="soft">New requests appear here by themselves.</p>
    </Empty>
  );
}
