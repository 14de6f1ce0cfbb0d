import type { Child } from 'hono/jsx';
import { listPermissions } from '../../permissions/list';
import {
  listWaiting,
  type WaitingOrder,
  type WaitingRequest,
} from '../../permissions/list-waiting';
import { PermissionStatus } from '../../permissions/permission';
import { listLiveSeries } from '../../permissions/series/list-live';
import type { Refusal } from '../frame/form';
import { agentsOf, loadNames, type Names } from '../frame/names';
import { firstSection } from '../frame/navigation';
import { numbersOf, sendPage, sendPart } from '../frame/page';
import { usePage } from '../frame/page-context';
import { Choices, Empty, NextPage, PAGE_SIZE, Tabs, withParameters } from '../parts/blocks';
import { ListFilter } from '../parts/form';
import { LivePart } from '../parts/live';
import { LiveSeriesList } from '../series/live-series';
import { type ConsoleContext, requireScopes } from '../session/access';
import { countOf, titleOf } from './count-words';
import { DenyBar } from './deny-bar';
import { EndedList, UnknownList } from './ended-list';
import { Keys } from './keys';
import { Nothing } from './nothing';
import { WaitingList } from './waiting-list';
import { mayDeny } from './waiting-row';

/** The end of the sentence that no request has the status yet. */
const ENDED: Record<PermissionStatus, string> = {
  pending: 'waited',
  approved: 'been approved',
  denied: 'been denied',
  expired: 'expired',
};

const ORDERS: readonly WaitingOrder[] = ['urgent', 'newest'];

/** For whom the requests of a tab wait. */
const WAITS_FOR = { pending: 'caller', others: 'others' } as const;

/** How often the inbox looks for new requests, in seconds. */
const INTERVAL = 10;

/**
 * A tab of the inbox: requests that wait, for the reader or for others, that have ended, or whose
 * acts have an unknown outcome.
 */
type View = PermissionStatus | 'others' | 'unknown';

const WAITING: [view: View, label: string][] = [['pending', 'Waiting']];
/** The tabs of what waits, for readers who may decide. */
const WAITING_TO_DECIDE: typeof WAITING = [
  ['pending', 'Waiting for you'],
  ['others', 'Waiting for others'],
];
const ENDED_VIEWS: typeof WAITING = [
  ['approved', 'Approved'],
  ['denied', 'Denied'],
  ['expired', 'Expired'],
  ['unknown', 'Outcome unknown'],
];

/**
 * Shows the requests that wait for the reader, the most urgent first; with `for=others` those that
 * wait for others; with a `status` those that have ended, the newest first; with `outcome=unknown`
 * those whose outcome nobody knows. Readers who may not decide see everything that waits. Sends those who may not read requests, and who just signed in,
 * to the first page that they may see.
 */
export async function showInbox(c: ConsoleContext): Promise<Response> {
  const { scopes } = c.var.signedIn.context.principal;
  if (!scopes.includes('permissions:read')) {
    if (new URL(c.req.url).search === '') return c.redirect(firstSection(scopes).path);
    requireScopes(c.var.signedIn.context.principal, 'permissions:read');
  }
  if (c.req.query('outcome') === 'unknown') return showUnknown(c);
  const status =
    PermissionStatus().options.find((status) => status === c.req.query('status')) ?? 'pending';
  if (status === 'pending') return showWaiting(c, new URL(c.req.url));
  return showDecided(c, status);
}

/**
 * The filters in the address of the page. Empty ones, which an untouched form sends, count as
 * absent.
 */
function readFilters({ searchParams }: URL) {
  const read = (name: string) => searchParams.get(name) || undefined;
  return { agent_id: read('agent_id'), cursor: read('cursor') };
}

/** A form that should deny requests and did not. */
interface RefusedDenial {
  refusal: Refusal;
  /** The ids of the requests that were checked. */
  checked: readonly string[];
}

/**
 * Shows the requests that wait.
 * @param address the address of the inbox, whose parameters say which requests
 * @param refused why the form in this request did not deny anything
 */
export async function showWaiting(
  c: ConsoleContext,
  address: URL,
  refused?: RefusedDenial,
): Promise<Response> {
  const { context } = c.var.signedIn;
  const filters = readFilters(address);
  const order = ORDERS.find((each) => each === address.searchParams.get('order')) ?? 'urgent';
  const mayDecide = context.principal.scopes.includes('permissions:decide');
  const view = mayDecide && address.searchParams.get('for') === 'others' ? 'others' : 'pending';
  const waitsFor = mayDecide ? WAITS_FOR[view] : undefined;
  const isPart = address.searchParams.get('part') === 'list';
  const [page, names, series] = await Promise.all([
    listWaiting(context, { limit: PAGE_SIZE, ...filters, order, waitsFor }),
    loadNames(context, ['people', 'agents', 'policies']),
    isPart ? null : listLiveSeries(context),
  ]);
  const checked = refused?.checked ?? [];
  const { aside } = c.var.signedIn;
  const isAside = ({ permission }: WaitingRequest) => Number(aside.includes(permission.id));
  const byAside = (a: WaitingRequest, b: WaitingRequest) => isAside(a) - isAside(b);
  const isFirst = filters.cursor === undefined;
  const title = titleOf(page, waitsFor, isFirst);
  const ofPage = new URL(withParameters(address, { part: null }), address);
  const isEmpty = page.data.length === 0 && !page.has_more;
  const list = (
    <LivePart
      id="waiting"
      source={withParameters(address, { part: 'list' })}
      seconds={INTERVAL}
      title={title}
      pauses="moving"
    >
      {isEmpty && (
        <Nothing waitsFor={waitsFor} isFiltered={filters.agent_id !== undefined || !isFirst} />
      )}
      {!isEmpty && (
        <p class="soft">
          {countOf(page, waitsFor, isFirst, numbersOf(c))} <Order order={order} address={address} />
          {mayDecide && page.data.some(mayDeny) && (
            <span class="wide"> Check requests to deny several at once.</span>
          )}
        </p>
      )}
      {page.data.length > 0 && (
        <WaitingList
          requests={page.data.toSorted(byAside)}
          reader={{
            member: context.principal.member?.id ?? null,
            mayDecide,
            checked,
            aside,
            agentId: filters.agent_id,
          }}
        />
      )}
      <NextPage page={page} address={ofPage} label="Next requests" />
    </LivePart>
  );
  if (isPart) return sendPart(c, list, names);
  return sendInbox(c, view, address, {
    title,
    names,
    list,
    status: refused?.refusal.status,
    more: (
      <>
        {mayDecide && <DenyBar from={ofPage.pathname + ofPage.search} refusal={refused?.refusal} />}
        {series && <LiveSeriesList series={series} page="/console" namesAgents />}
      </>
    ),
  });
}

/** Says in which order the requests are, with a link to the other one. */
function Order({ order, address }: { order: WaitingOrder; address: URL }) {
  const other = (order: string | null) =>
    withParameters(address, { order, cursor: null, part: null });
  if (order === 'newest') {
    return (
      <>
        <span class="wide">The newest is at the top. </span>
        <a href={other(null)}>Show the most urgent first</a>
      </>
    );
  }
  return (
    <>
      <span class="wide">The one that expires first is at the top. </span>
      <a href={other('newest')}>Show the newest first</a>
    </>
  );
}

async function showDecided(c: ConsoleContext, status: PermissionStatus): Promise<Response> {
  const { context } = c.var.signedIn;
  const address = new URL(c.req.url);
  const filters = readFilters(address);
  const [page, names] = await Promise.all([
    listPermissions(context, { limit: PAGE_SIZE, status, ...filters }),
    loadNames(context, ['people', 'agents', 'policies']),
  ]);
  const title = `Inbox: ${status}`;
  if (page.data.length === 0 && !page.has_more) {
    const requests = filters.agent_id ? 'No request of this agent' : 'No request';
    const list = <Empty title={`${requests} has ${ENDED[status]} yet.`} />;
    return sendInbox(c, status, address, { title, names, list });
  }
  const list = (
    <>
      <EndedList permissions={page.data} />
      <NextPage page={page} address={address} />
    </>
  );
  return sendInbox(c, status, address, { title, names, list });
}

async function showUnknown(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const address = new URL(c.req.url);
  const filters = readFilters(address);
  const [page, names] = await Promise.all([
    listPermissions(context, { limit: PAGE_SIZE, outcome: 'unknown', ...filters }),
    loadNames(context, ['people', 'agents', 'policies']),
  ]);
  const isEmpty = page.data.length === 0 && !page.has_more;
  const list = (
    <>
      {isEmpty && (
        <Empty title="No outcome is unknown.">
          <p>Acts whose programs did not report what happened appear here.</p>
        </Empty>
      )}
      {!isEmpty && (
        <p class="soft">
          These approvals were used, and nobody knows whether the acts happened. Find out before
          they are done again.
        </p>
      )}
      <UnknownList permissions={page.data} />
      <NextPage page={page} address={address} />
    </>
  );
  return sendInbox(c, 'unknown', address, { title: 'Inbox: outcome unknown', names, list });
}

/** The parameters of the address that show a view. */
function parametersOf(view: View) {
  const none = { status: null, for: null, outcome: null };
  if (view === 'pending') return none;
  if (view === 'others') return { ...none, for: view };
  if (view === 'unknown') return { ...none, outcome: view };
  return { ...none, status: view };
}

/** Answers with the requests of one view, and the ways to the others. */
function sendInbox(
  c: ConsoleContext,
  view: View,
  address: URL,
  {
    list,
    more,
    ...page
  }: { title: string; names: Names; list: Child; more?: Child; status?: number | undefined },
): Response {
  const mayDecide = c.var.signedIn.context.principal.scopes.includes('permissions:decide');
  const waiting = mayDecide ? WAITING_TO_DECIDE : WAITING;
  // Also where the inbox answers a form that was sent to another path.
  return sendPage(
    { var: c.var, req: { path: address.pathname, header: (name) => c.req.header(name) } },
    {
      ...page,
      heading: 'Inbox',
      children: (
        <>
          <Tabs
            label="Requests by state"
            tabs={[...waiting, ...ENDED_VIEWS]}
            current={view}
            address={(view) => withParameters(address, { ...parametersOf(view), cursor: null })}
          />
          <AgentFilter address={address} current={readFilters(address).agent_id} />
          {list}
          {more}
          <Keys page="inbox" />
        </>
      ),
    },
  );
}

/** Of more agents, one is chosen from a list. */
const MAX_CHOICES = 8;

/** Limits the list to one agent. */
function AgentFilter({ address, current }: { address: URL; current: string | undefined }) {
  const agents = agentsOf(usePage().names);
  if (agents.length < 2 && current === undefined) return null;
  if (agents.length <= MAX_CHOICES) {
    return (
      <Choices
        label="Agent"
        choices={[['', 'All agents'], ...agents]}
        current={current ?? ''}
        address={(id) => withParameters(address, { agent_id: id || null, cursor: null })}
      />
    );
  }
  return (
    <ListFilter
      action="/console"
      label="Agent"
      name="agent_id"
      current={current}
      allLabel="All agents"
      options={agents}
      otherParameters={Object.fromEntries(
        ['status', 'for', 'order', 'outcome'].map((name) => [name, address.searchParams.get(name)]),
      )}
    />
  );
}
