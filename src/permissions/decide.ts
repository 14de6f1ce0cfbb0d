import { and, eq, gt } from 'drizzle-orm';
import { permissions } from '../db/schema';
import { Problem } from '../errors';
import type { Context, UserContext, UserPrincipal } from '../http/context';
import type { Entry } from '../ledger/entry';
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

/** The id under which a decision of a user is recorded: that of the member, or of the account for its own tokens. */
export function deciderOf({ member, account }: UserPrincipal): string {
  return member?.id ?? account.id;
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
  const decidedBy = deciderOf(context.principal);
  const decisionReason = reason || null;
  const entry = draftPermissionEntry(context, row, event, {
    ...details,
    ...digestDetails(row),
    decided_by: decidedBy,
    decided_via: 'api',
    decision_reason: decisionReason,
  });
  const decided = { ...columns, decidedBy, decidedAt: context.runtime.now(), decisionReason };
  return settlePermission(context, row, { entry, columns: decided });
}

/**
 * Ends the wait of a pending permission: stores its new columns with the audit entry, and returns it.
 * @throws Problem `not_pending` if it was decided, expired or was deleted after it was read
 */
export async function settlePermission(
  { runtime, ledger }: Context,
  row: PermissionRow,
  { entry, columns }: { entry: Entry; columns: Partial<PermissionRow> },
): Promise<Permission> {
  const now = runtime.now();
  const settled = { ...columns, lastEntry: entry.id, updatedAt: now };
  const permission = presentPermission({ ...row, ...settled }, now);
  const isPending = and(
    isPermissionWithId(row.account, row.id),
    eq(permissions.status, 'pending'),
    gt(permissions.expiresAt, now),
  );
  const committed = await ledger.commit({
    changes: (write) => [write.update(permissions).set(settled).where(isPending)],
    entries: [entry],
    answer: { value: permission, subject: row.agentId },
  });
  if (!committed) throw notPending('was decided at the same time; read it to see how');
  return permission;
}

function notPending(why: string): Problem {
  return new Problem('not_pending', `The permission ${why}.`);
}
