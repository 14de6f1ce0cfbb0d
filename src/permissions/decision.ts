import { and, eq, gt } from 'drizzle-orm';
import { permissions } from '../db/schema';
import { Problem } from '../errors';
import { isPermission, type PermissionRow, statusAt } from './permission';

/** The refusal of a decision that comes after another, or after the request ran out. */
export function notPending(): Problem {
  return new Problem('not_pending', 'The permission is already decided or has expired; read it to see which.');
}

/** @throws Problem `not_pending` when a permission is not open for a decision */
export function requirePending(row: PermissionRow, now: number): void {
  if (statusAt(row, now) !== 'pending') throw notPending();
}

/** The guard of a decision: finds the permission only while it is open. */
export function isPending({ account, id }: PermissionRow, now: number) {
  return and(isPermission(account, id), eq(permissions.status, 'pending'), gt(permissions.expiresAt, now));
}
