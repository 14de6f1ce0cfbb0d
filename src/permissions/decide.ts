import { and, eq, gt } from 'drizzle-orm';
import { permissions } from '../db/schema';
import { Problem } from '../errors';
import type { Context, UserContext } from '../http/context';
import { digestDetails, draftPermissionEntry, type PermissionEntryDetails } from './draft-entry';
import {
  isPermissionWithId,
  type Permission,
  type PermissionRow,
  presentPermission,
  requirePermission,
  statusAt,
} from './permission';

/**
 * Returns a loaded permission if it still waits for a decision.
 * @throws Problem `not_found`; `not_pending` if it is already decided or has expired
 */
export function requirePending({ principal, runtime }: Context, permission: PermissionRow | undefined): PermissionRow {
  const row = requirePermission(principal, permission);
  const status = statusAt(row, runtime.now());
  if (status !== 'pending') throw notPending(`is ${status} already`);
  return row;
}

/** A person's decision on a permission. */
interface Decision {
  event: 'approve' | 'deny';
  reason: string | undefined;
  details: PermissionEntryDetails;
  /** The columns that the decision sets, besides who decided, when and why. */
  columns: Partial<PermissionRow> & Pick<PermissionRow, 'status'>;
}

/**
 * Stores a person's decision with its audit entry, and returns the decided permission.
 * @throws Problem `not_pending` if it was decided, expired or was deleted after it was read
 */
export async function decidePermission(
  context: UserContext,
  row: PermissionRow,
  { event, reason, details, columns }: Decision,
): Promise<Permission> {
  const now = context.runtime.now();
  const decidedBy = context.principal.account.id;
  const decisionReason = reason || null;
  const entry = draftPermissionEntry(context, row, event, {
    ...details,
    ...digestDetails(row),
    decided_by: decidedBy,
    decision_reason: decisionReason,
  });
  const decided = { ...columns, decidedBy, decidedAt: now, decisionReason, lastEntry: entry.id, updatedAt: now };
  const permission = presentPermission({ ...row, ...decided }, now);
  const committed = await context.ledger.commit({
    changes: (write) => [write.update(permissions).set(decided).where(isStillPending(row, now))],
    entries: [entry],
    answer: { value: permission, subject: row.agentId },
  });
  if (!committed) throw notPending('was decided at the same time; read it to see how');
  return permission;
}

/** The guard of a decision: finds the permission only if it still waits for one. */
export function isStillPending({ account, id }: PermissionRow, now: number) {
  return and(isPermissionWithId(account, id), eq(permissions.status, 'pending'), gt(permissions.expiresAt, now));
}

/** The problem that a permission no longer waits for a decision. */
export function notPending(why: string): Problem {
  return new Problem('not_pending', `The permission ${why}.`);
}
