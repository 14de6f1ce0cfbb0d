import { getSetup } from '../../accounts/me/get-setup';
import {
  listWaiting,
  type WaitingOrder,
  type WaitingRequest,
} from '../../permissions/list-waiting';
import { listLiveSeries } from '../../permissions/series/list-live';
import type { Refusal } from '../frame/form';
import { loadNames } from '../frame/names';
import { firstSection } from '../frame/navigation';
import { numbersOf, sendPart } from '../frame/page';
import { NextPage, PAGE_SIZE, withParameters } from '../parts/blocks';
import { LivePart } from '../parts/live';
import { LiveSeriesList } from '../series/live-series';
import { type ConsoleContext, requireScopes } from '../session/access';
import { Checklist } from './checklist';
import { countOf, titleOf } from './count-words';
import { DenyBar } from './deny-bar';
import { showEnded } from './ended';
import { Nothing } from './nothing';
import { endedViewOf, readFilters, sendInbox } from './views';
import { WaitingList } from './waiting-list';
import { mayDeny } from './waiting-row';

const ORDERS: readonly WaitingOrder[] = ['urgent', 'newest'];

/** For whom the requests of a tab wait. */
const WAITS_FOR = { pending: 'caller', others: 'others' } as const;

/** How often the inbox looks for new requests, in seconds. */
const INTERVAL = 10;

/**
 * Shows the requests that wait for the reader, the most urgent first; with `for=others` those that
 * wait for others; or a list of those that have ended. Readers who may not decide see everything
 * that waits. Sends those who may not read requests, and who just signed in, to the first page that
 * they may see.
 */
export async function showInbox(c: ConsoleContext): Promise<Response> {
  const { scopes } = c.var.signedIn.context.principal;
  if (!scopes.includes('permissions:read')) {
    if (new URL(c.req.url).search === '') return c.redirect(firstSection(scopes).path);
    requireScopes(c.var.signedIn.context.principal, 'permissions:read');
  }
  const view = endedViewOf(c);
  if (view) return showEnded(c, view);
  return showWaiting(c, new URL(c.req.url));
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
  const { member, token } = context.principal;
  // The scopes of a token may lack what the checklist is about.
  const isOwner = token === null && member?.role === 'owner';
  const hasChecklist = isOwner && !isPart && view === 'pending';
  const [page, names, series, setup] = await Promise.all([
    listWaiting(context, { limit: PAGE_SIZE, ...filters, order, waitsFor }),
    loadNames(context, ['people', 'agents', 'policies']),
    isPart ? null : listLiveSeries(context),
    hasChecklist ? getSetup(context, member) : null,
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
            member: member?.id ?? null,
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
    list: (
      <>
        {setup && <Checklist setup={setup} isOpen={isEmpty} />}
        {list}
      </>
    ),
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
