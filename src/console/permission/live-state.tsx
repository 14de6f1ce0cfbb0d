import {
  type Permission,
  type preloadPermission,
  type ReviewedPermission,
  requirePermission,
  statusAt,
} from '../../permissions/permission';
import { sendPart } from '../frame/page';
import { LivePart } from '../parts/live';
import type { PreloadedContext } from '../session/access';

/** How often an open card looks whether its request has changed, in seconds. */
const INTERVAL = 10;

interface LiveStateProps {
  row: ReviewedPermission;
  status: Permission['status'];
  /** What the reader has seen of the request: see {@link markOf}. By default what it is now. */
  seen?: string;
}

/**
 * Says on an open card that its request was decided, has expired or has another vote. The card
 * itself stays as it is: what somebody types must not move.
 */
export function LiveState({ row, status, seen = markOf(row, status) }: LiveStateProps) {
  const hasChanged = markOf(row, status) !== seen;
  const path = `/console/permissions/${row.id}`;
  return (
    <LivePart
      id="live-state"
      source={`${path}/state?seen=${encodeURIComponent(seen)}`}
      seconds={INTERVAL}
      reloads={!hasChanged}
    >
      {hasChanged && (
        <p class="notice waiting">
          {CHANGES[status]} <a href={path}>Load the page again</a>
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
  return sendPart(c, <LiveState row={row} status={status} seen={c.req.query('seen') ?? ''} />);
}
