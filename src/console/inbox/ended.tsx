import type { UserContext } from '../../http/context';
import { listPermissions } from '../../permissions/list';
import type { Permission } from '../../permissions/permission';
import { loadNames } from '../frame/names';
import { Empty, NextPage, PAGE_SIZE } from '../parts/blocks';
import type { ConsoleContext } from '../session/access';
import { DecidedList, EndedList, UnknownList } from './ended-list';
import { ENDED_LABELS, type EndedView, readFilters, sendInbox } from './views';

/**
 * Shows requests that were approved or denied, or expired, or whose outcome is unknown, in the
 * order in which they were decided or expired; or those that the reader decided or voted on, in the
 * order in which they did.
 */
export async function showEnded(c: ConsoleContext, view: EndedView): Promise<Response> {
  const { context } = c.var.signedIn;
  const address = new URL(c.req.url);
  const filters = readFilters(address);
  const [page, names] = await Promise.all([
    listPermissions(context, { limit: PAGE_SIZE, ...filtersOf(view, context), ...filters }),
    loadNames(context, ['people', 'agents', 'policies']),
  ]);
  const list = (
    <>
      {page.data.length === 0 && !page.has_more && (
        <NothingEnded view={view} isFiltered={filters.agent_id !== undefined} />
      )}
      <List view={view} permissions={page.data} context={context} />
      <NextPage page={page} address={address} />
    </>
  );
  const title = `Inbox: ${ENDED_LABELS[view].toLowerCase()}`;
  return sendInbox(c, view, address, { title, names, list });
}

/** The filters of `GET /v1/permissions` that a view stands for. */
function filtersOf(view: EndedView, { principal }: UserContext) {
  if (view === 'unknown') return { outcome: view, outcome_order: 'decision' } as const;
  if (view === 'mine') return { decided_by: principal.member?.id };
  return { status: view };
}

interface ListProps {
  view: EndedView;
  permissions: Permission[];
  context: UserContext;
}

function List({ view, permissions, context: { principal } }: ListProps) {
  if (permissions.length === 0) return null;
  if (view === 'mine')
    return <DecidedList permissions={permissions} member={principal.member?.id} />;
  if (view !== 'unknown') return <EndedList permissions={permissions} />;
  return (
    <>
      <p class="soft">
        These approvals were used, and nobody knows whether the acts happened. Find out before
        anything is done again.
      </p>
      <UnknownList permissions={permissions} />
    </>
  );
}

/** How the sentence “No request has … yet.” goes on. */
const ENDED = { approved: 'been approved', denied: 'been denied', expired: 'expired' };

function NothingEnded({ view, isFiltered }: { view: EndedView; isFiltered: boolean }) {
  const requests = isFiltered ? 'No request of this agent' : 'No request';
  if (view === 'mine') {
    return (
      <Empty title={`You have decided ${requests.toLowerCase()} yet.`}>
        <p>What you approve, deny or vote on appears here.</p>
      </Empty>
    );
  }
  if (view === 'unknown') {
    return (
      <Empty title="No outcome is unknown.">
        <p>Acts whose programs did not report what happened appear here.</p>
      </Empty>
    );
  }
  return <Empty title={`${requests} has ${ENDED[view]} yet.`} />;
}
