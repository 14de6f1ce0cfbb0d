import { type preloadPermission, requirePermission } from '../../permissions/find-permission';
import { type Permission, type ReviewedPermission, statusAt } from '../../permissions/permission';
import { sendPart } from '../frame/page';
import { LivePart } from '../parts/live';
import type { PreloadedContext } from '../session/access';
import { agentOfInbox, cardAddress } from './next-request';

/** How often an open card looks whether its request has changed, in seconds. */
const INTERVAL = 10;

interface LiveStateProps {
  row: ReviewedPermission;
  status: Permission['status'];
  /** The state that the reader has seen: see {@link markOf}. By default the present one. */
  seen?: string;
  /** The agent to whose requests the inbox was limited. */
  agentId: string | undefined;
}

/**
 * Says on an open card that its request was decided, has expired or has another vote. The card
 * itself stays as it is: what somebody types must not move. Once the request has ended, the script
 * switches its buttons off.
 */
export function LiveState({ row, status, seen = markOf(row, status), agentId }: LiveStateProps) {
  const hasChanged = markOf(row, status) !== seen;
  const source = new URLSearchParams({ seen, ...(agentId !== undefined && { agent_id: agentId }) });
  return (
    <LivePart
      id="live-state"
      source={`/console/permissions/${row.id}/state?${source}`}
      seconds={INTERVAL}
      reloads={status === 'pending'}
    >
      {hasChanged && (
        <p class="notice waiting" data-ended={status === 'pending' ? undefined : ''}>
          {CHANGES[status]} <a href={cardAddress(row.id, agentId)}>Load the page again</a>
        </p>
      )}
    </LivePart>
  );
}

const CHANGES: Record<Permission['status'], string> = {
  pending: 'Somebody has voted since you opened this page.',
  approved: 'This request was approved since you opened this page.',
  denied: 'This request was denied since you opened this page.',
  expired: 'This request has ended since you opened this page: it can no longer be decided.',
};

/** The state of a request, and how many votes it has. */
function markOf({ review }: ReviewedPermission, status: Permission['status']): string {
  return `${status}.${review?.votes.length ?? 0}`;
}

/** Answers with what has changed about the request of an open card. */
export async function sendState(c: PreloadedContext<typeof preloadPermission>): Promise<Response> {
  const { signedIn, runtime, loaded } = c.var;
  const row = requirePermission(signedIn.context.principal, loaded.permission?.[0]);
  const status = statusAt(row, runtime.now());
  const seen = c.req.query('seen') ?? '';
  return sendPart(c, <LiveState row={row} status={status} seen={seen} agentId={agentOfInbox(c)} />);
}
