import { and, eq, gt } from 'drizzle-orm';
import { permissions } from '../db/schema';
import { Problem } from '../errors';
import type { UserContext } from '../http/context';
import { draftPermissionEntry, type EventDetails } from './draft-entry';
import {
  isPermission,
  type Permission,
  type PermissionRow,
  presentPermission,
  statusAt,
  visiblePermission,
} from './permission';

/**
 * The permission that a person is to decide.
 * @throws Problem `not_found`; `not_pending` when it is decided or has run out
 */
export function requirePending(context: UserContext, loaded: PermissionRow[] | undefined, now: number): PermissionRow {
  const row = visiblePermission(loaded, context.principal);
  const status = statusAt(row, now);
  if (status !== 'pending') throw notPending(`is ${status} already`);
  return row;
}

/** What a person decided on a permission. */
interface Decision {
  event: 'approve' | 'deny';
  reason: string | undefined;
  details: EventDetails;
  /** The columns that the decision sets, beside who decided, when and why. */
  columns: Partial<PermissionRow> & Pick<PermissionRow, 'status'>;
}

/**
 * Writes down a person's decision.
 * @throws Problem `not_pending` when another decision was faster
 */
export async function decidePermission(
  context: UserContext,
  row: PermissionRow,
  now: number,
  { event, reason, details, columns }: Decision,
): Promise<Permission> {
  const decidedBy = context.principal.account.id;
  const decisionReason = reason || null;
  const entry = draftPermissionEntry(context, row, event, now, {
    ...details,
    decided_by: decidedBy,
    decision_reason: decisionReason,
  });
  const decided = { ...columns, decidedBy, decidedAt: now, decisionReason, lastEntry: entry.id, updatedAt: now };
  const isPending = and(
    isPermission(row.account, row.id),
    eq(permissions.status, 'pending'),
    gt(permissions.expiresAt, now),
  );
  const permission = presentPermission({ ...row, ...decided }, now);
  const committed = await context.ledger.commit({
    changes: (write) => [write.update(permissions).set(decided).where(isPending)],
    entries: [entry],
    answer: { value: permission, subject: row.agentId },
  });
  if (!committed) throw notPending('was decided at the same time; read it to see how');
  return permission;
}

function notPending(why: string): Problem {
  return new Problem('not_pending', `The permission ${why}.`);
}
