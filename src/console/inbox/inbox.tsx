import type { Child } from 'hono/jsx';
import { PERMISSION_STATUSES, type PermissionStatus } from '../../db/schema';
import type { Page } from '../../http/page';
import { listPermissions } from '../../permissions/list';
import {
  listWaiting,
  MAX_EXAMINED,
  type WaitingOrder,
  type WaitsFor,
} from '../../permissions/list-waiting';
import { isWithdrawn, type Permission } from '../../permissions/permission';
import type { Refusal } from '../frame/form';
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
import { DenyBar } from './deny-bar';
import { Keys } from './keys';
import { mayDeny, WaitingList } from './waiting-list';

/** What a request has done that has the status. */
const ENDED: Record<PermissionStatus, string> = {
  pending: 'waited',
  approved: 'been approved',
  denied: 'been denied',
  expired: 'expired',
};

/** How often the inbox looks for new requests, in seconds. */
const INTERVAL = 10;

/** A tab of the inbox: requests that wait, for the reader or for others, or that have ended. */
type View = PermissionStatus | 'others';

const WAITING: [view: View, label: string][] = [['pending', 'Waiting']];
/** What waits, for readers who may decide. */
const WAITING_TO_DECIDE: typeof WAITING = [
  ['pending', 'Waiting for you'],
  ['others', 'Waiting for others'],
];
const ENDED_VIEWS: typeof WAITING = [
  ['approved', 'Approved'],
  ['denied', 'Denied'],
  ['expired', 'Expired'],
];

/**
 * Shows the requests that wait for the reader, the most urgent first; with `for=others` those that
 * wait for others; with a `status` those that have ended, the newest first. Readers who may not
 * decide see everything that waits. Sends those who may not read requests, and who just signed in,
 * to the first page that they may see.
 */
export async function showInbox(c: ConsoleContext): Promise<Response> {
  const { scopes } = c.var.signedIn.context.principal;
  if (!scopes.includes('permissions:read')) {
    if (new URL(c.req.url).search === '') return c.redirect(firstSection(scopes).path);
    requireScopes(c.var.signedIn.context.principal, 'permissions:read');
  }
  const status =
    PERMISSION_STATUSES.find((status) => status === c.req.query('status')) ?? 'pending';
  return status === 'pending' ? showWaiting(c, new URL(c.req.url)) : showDecided(c, status);
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
  const order = address.searchParams.get('order') === 'newest' ? 'newest' : 'urgent';
  const mayDecide = context.principal.scopes.includes('permissions:decide');
  const waitsFor = mayDecide
    ? address.searchParams.get('for') === 'others'
      ? 'others'
      : 'caller'
    : undefined;
  const [page, names] = await Promise.all([
    listWaiting(context, { limit: PAGE_SIZE, ...filters, order, waitsFor }),
    loadNames(context, ['people', 'agents', 'policies']),
  ]);
  const checked = refused?.checked ?? [];
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
    >
      {isEmpty ? (
        <Nothing waitsFor={waitsFor} isFiltered={filters.agent_id !== undefined || !isFirst} />
      ) : (
        <p class="soft">
          {countOf(page, waitsFor, isFirst)} <Order order={order} address={address} />
          {mayDecide && page.data.some(mayDeny) && ' Check requests to deny several at once.'}
        </p>
      )}
      {page.data.length > 0 && (
        <WaitingList
          requests={page.data}
          member={context.principal.member?.id ?? null}
          checked={checked}
        />
      )}
      <NextPage page={page} address={ofPage} label="Next requests" />
    </LivePart>
  );
  if (address.searchParams.get('part') === 'list') return sendPart(c, list, names);
  return sendInbox(c, waitsFor === 'others' ? 'others' : 'pending', address, {
    title,
    names,
    list,
    status: refused?.refusal.status,
    more: mayDecide && (
      <DenyBar from={ofPage.pathname + ofPage.search} refusal={refused?.refusal} />
    ),
  });
}

/**
 * The title of the document. Where the first page shows what waits for the reader, it has the
 * count.
 */
function titleOf(
  { data, has_more }: Page<unknown>,
  waitsFor: WaitsFor | undefined,
  isFirst: boolean,
): string {
  if (waitsFor === 'others') return 'Inbox: waiting for others';
  if (waitsFor === undefined || !isFirst || data.length === 0) return 'Inbox';
  return `(${data.length}${has_more ? '+' : ''}) Inbox`;
}

/** Says how many requests of the page wait for whom; empty on the next pages. */
function countOf(
  { data, has_more }: Page<unknown>,
  waitsFor: WaitsFor | undefined,
  isFirst: boolean,
): string {
  if (waitsFor === undefined) return '';
  const whom = waitsFor === 'caller' ? 'you' : 'others';
  const verb = data.length < 2 ? 'waits' : 'wait';
  if (has_more && data.length < PAGE_SIZE) {
    const examined = `${isFirst ? 'the first' : 'the next'} ${MAX_EXAMINED.toLocaleString('en')} requests`;
    return `Of ${examined}, ${data.length === 0 ? 'none' : data.length} ${verb} for ${whom}. More follow.`;
  }
  return isFirst ? `${data.length}${has_more ? '+' : ''} ${verb} for ${whom}.` : '';
}

/** Says in which order the requests are, with a link to the other one. */
function Order({ order, address }: { order: WaitingOrder; address: URL }) {
  const other = (order: string | null) =>
    withParameters(address, { order, cursor: null, part: null });
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

async function showDecided(c: ConsoleContext, status: PermissionStatus): Promise<Response> {
  const { context } = c.var.signedIn;
  const address = new URL(c.req.url);
  const filters = readFilters(address);
  const [page, names] = await Promise.all([
    listPermissions(context, { limit: PAGE_SIZE, status, ...filters }),
    loadNames(context, ['people', 'agents', 'policies']),
  ]);
  const list =
    page.data.length === 0 ? (
      <Empty
        title={`No request ${filters.agent_id ? 'of this agent ' : ''}has ${ENDED[status]} yet.`}
      />
    ) : (
      <>
        <ul class="requests">
          {page.data.map((permission) => (
            <DecidedRow permission={permission} />
          ))}
        </ul>
        <NextPage page={page} address={address} />
      </>
    );
  return sendInbox(c, status, address, { title: `Inbox: ${status}`, names, list });
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

/** The parameters of the address that show a view. */
function parametersOf(view: View) {
  return {
    status: view === 'pending' || view === 'others' ? null : view,
    for: view === 'others' ? view : null,
  };
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
  // Also where the inbox answers a form that was sent to another path.
  return sendPage(
    { var: c.var, req: { path: address.pathname } },
    {
      ...page,
      heading: 'Inbox',
      children: (
        <>
          <Tabs
            label="Requests by state"
            tabs={[...(mayDecide ? WAITING_TO_DECIDE : WAITING), ...ENDED_VIEWS]}
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
      otherParameters={Object.fromEntries(
        ['status', 'for', 'order'].map((name) => [name, address.searchParams.get(name)]),
      )}
    />
  );
}

interface NothingProps {
  waitsFor: WaitsFor | undefined;
  isFiltered: boolean;
}

function Nothing({ waitsFor, isFiltered }: NothingProps) {
  if (isFiltered) {
    return (
      <Empty title="Nothing waits here.">
        <p>
          <a href={waitsFor === 'others' ? '/console?for=others' : '/console'}>
            Show the whole list
          </a>
        </p>
      </Empty>
    );
  }
  if (agentsOf(usePage().names).length === 0) return <FirstSteps />;
  const whom = waitsFor === 'caller' ? 'you' : waitsFor === 'others' ? 'others' : 'a decision';
  return (
    <Empty title={`Nothing waits for ${whom}.`}>
      <p>New requests appear here by themselves.</p>
    </Empty>
  );
}

/** What an account without agents sees: how to connect the first one. */
function FirstSteps() {
  if (!usePage().may('agents:write')) {
    return (
      <Empty title="No agent is registered yet.">
        <p>
          Requests of agents will wait here. A developer, admin or owner of the account can register
          one.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="Connect your first agent">
      <p>
        Register it to get its key, with three lines that send a first request. The request then
        waits here for you.
      </p>
      <Form action="/console/agents" class="inline" creates>
        <TextField
          label="Name of the agent"
          name="name"
          value="My first agent"
          maxlength={255}
          required
        />
        <button type="submit">Register it</button>
      </Form>
    </Empty>
  );
}
