import { Problem } from '../../errors';
import { SECOND } from '../../lib/time';
import type { Id } from '../../lib/typeid';
import { outcomeStatusAt, presentOutcome } from '../../permissions/outcomes/outcome';
import {
  type GrantedToken,
  type PermissionRow,
  statusAt,
  tokenAt,
} from '../../permissions/permission';

/** How a call stands to the permissions that earlier calls asked for. */
export type CallStanding =
  /** It asks for a new permission, and leads there instead of to the previous one. */
  | { kind: 'new'; previousPermission: Id<'perm'> | null }
  | { kind: 'pending'; row: PermissionRow }
  | { kind: 'usable'; row: PermissionRow; token: GrantedToken };

/**
 * Says how a call stands to the permission to which its name leads.
 *
 * A permission that is over answers the call again: one that has an idempotency key for as long as
 * the permission exists, one without for `repeatAfter` seconds. After that, or after an act that
 * failed, the call asks for a new permission.
 * @param earlier the permission to which the name leads; undefined if it leads to none
 * @throws Problem `already_used`, `permission_denied`, `permission_expired`
 */
export function callStandingOf(
  earlier: PermissionRow | undefined,
  { hasKey, repeatAfter, now }: { hasKey: boolean; repeatAfter: number; now: number },
): CallStanding {
  if (!earlier) return { kind: 'new', previousPermission: null };
  if (statusAt(earlier, now) === 'pending') return { kind: 'pending', row: earlier };
  const token = tokenAt(earlier, now);
  if (token?.status === 'active') return { kind: 'usable', row: earlier, token };
  const isAnswered = hasKey || now < endOf(earlier, now) + repeatAfter * SECOND;
  const mayRepeat = outcomeStatusAt(earlier, now) === 'failed';
  if (mayRepeat || !isAnswered) return { kind: 'new', previousPermission: earlier.id };
  throw answerOf(earlier, token, now);
}

/** When the permission was over, in milliseconds since the epoch. */
function endOf(row: PermissionRow, now: number): number {
  if (row.tokenStatus === 'active' && row.tokenExpiresAt !== null) return row.tokenExpiresAt;
  if (row.status === 'pending') return Math.min(row.expiresAt, now);
  return row.updatedAt;
}

/** The answer to a call whose permission is over. */
function answerOf(row: PermissionRow, token: GrantedToken | null, now: number): Problem {
  if (row.status === 'denied') return denied(row);
  if (token?.status === 'used') {
    return new Problem(
      'already_used',
      'This call was sent before, and is not known to have failed. It is not sent again.',
      { members: { permission_id: row.id, outcome: presentOutcome(row, now) } },
    );
  }
  if (token?.status === 'revoked') {
    return new Problem('permission_denied', 'The approval of this call was revoked.', {
      members: { permission_id: row.id },
    });
  }
  return new Problem(
    'permission_expired',
    token
      ? 'The approval of this call ended before the call was sent.'
      : 'Nobody decided about this call in time, or it was withdrawn.',
    { members: { permission_id: row.id } },
  );
}

/** The answer to a call that a person or a policy denied. */
export function denied({
  id,
  decisionReason,
}: Pick<PermissionRow, 'id' | 'decisionReason'>): Problem {
  return new Problem(
    'permission_denied',
    decisionReason ? `This call was denied: ${decisionReason}` : 'This call was denied.',
    { members: { permission_id: id, decision_reason: decisionReason } },
  );
}
