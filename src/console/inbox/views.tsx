import type { Child } from 'hono/jsx';
import type { PermissionStatus } from '../../permissions/permission';
import { agentsOf, type Names } from '../frame/names';
import { sendPage } from '../frame/page';
import { usePage } from '../frame/page-context';
import { Choices, Tabs, withParameters } from '../parts/blocks';
import { ListFilter } from '../parts/form';
import type { ConsoleContext } from '../session/access';
import { Keys } from './keys';

/**
 * A tab of the inbox: requests that wait, for the reader or for others, that have ended, that the
 * reader decided, or whose acts have an unknown outcome.
 */
type View = 'pending' | 'others' | EndedView;

/** A tab of the inbox with requests that do not wait, or that the reader decided. */
export type EndedView = Exclude<PermissionStatus, 'pending'> | 'unknown' | 'mine';

const WAITING: [view: View, label: string][] = [['pending', 'Waiting']];
/** The tabs of what waits, for readers who may decide. */
const WAITING_TO_DECIDE: typeof WAITING = [
  ['pending', 'Waiting for you'],
  ['others', 'Waiting for others'],
];
/** The labels of the tabs with requests that have ended, or that the reader decided or voted on. */
export const ENDED_LABELS: Record<EndedView, string> = {
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Expired',
  unknown: 'Outcome unknown',
  mine: 'Decided by you',
};
/** The tab of readers who are members and may decide. */
const MINE: typeof WAITING = [['mine', ENDED_LABELS.mine]];
/** The name of the reader in the address. */
const ME = 'me';
const ENDED_VIEWS = (['approved', 'denied', 'expired', 'unknown'] as const).map(
  (view): [EndedView, string] => [view, ENDED_LABELS[view]],
);

/**
 * The filters in the address of the page. Empty ones, which an untouched form sends, count as
 * absent.
 */
export function readFilters({ searchParams }: URL) {
  const read = (name: string) => searchParams.get(name) || undefined;
  return { agent_id: read('agent_id'), cursor: read('cursor') };
}

/** The tab that the address names, unless it is one of requests that wait. */
export function endedViewOf({ req, var: { signedIn } }: ConsoleContext): EndedView | undefined {
  if (req.query('outcome') === 'unknown') return 'unknown';
  if (req.query('decided_by') === ME && signedIn.context.principal.member) return 'mine';
  const status = req.query('status');
  return ENDED_VIEWS.find(([view]) => view === status && view !== 'unknown')?.[0];
}

/** The parameters of the address that show a view. */
function parametersOf(view: View) {
  const none = { status: null, for: null, outcome: null, decided_by: null };
  if (view === 'pending') return none;
  if (view === 'others') return { ...none, for: view };
  if (view === 'unknown') return { ...none, outcome: view };
  if (view === 'mine') return { ...none, decided_by: ME };
  return { ...none, status: view };
}

/** Answers with the requests of one view, and the ways to the others. */
export function sendInbox(
  c: ConsoleContext,
  view: View,
  address: URL,
  {
    list,
    more,
    ...page
  }: { title: string; names: Names; list: Child; more?: Child; status?: number | undefined },
): Response {
  const { scopes, member } = c.var.signedIn.context.principal;
  const mayDecide = scopes.includes('permissions:decide');
  const waiting = mayDecide ? WAITING_TO_DECIDE : WAITING;
  const mine = mayDecide && member ? MINE : [];
  // The path of the inbox: it also answers forms that were sent to other paths.
  return sendPage(
    { var: c.var, req: { path: address.pathname, header: (name) => c.req.header(name) } },
    {
      ...page,
      heading: 'Inbox',
      children: (
        <>
          <Tabs
            label="Requests by state"
            tabs={[...waiting, ...mine, ...ENDED_VIEWS]}
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

/** Maximum number of agents that are shown as links; more are options of a list. */
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
        ['status', 'for', 'order', 'outcome', 'decided_by'].map((name) => [
          name,
          address.searchParams.get(name),
        ]),
      )}
    />
  );
}
