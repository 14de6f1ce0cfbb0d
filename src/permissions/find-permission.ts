import { and, eq, getTableColumns, type SQL, sql } from 'drizzle-orm';
import { aliased, asHex } from '../db/columns';
import type { Reader } from '../db/database';
import { isAgentOfPermission } from '../db/permission-joins';
import { prepareByAccount } from '../db/prepare-by-account';
import { agents, permissions } from '../db/schema';
import { notFound, Problem } from '../errors';
import type { Context, Principal, RequestContext } from '../http/context';
import type { CallerSql } from '../identity/credentials';
import { type Id, parseId } from '../lib/typeid';
import { type PermissionRow, type ReviewedPermission, statusAt } from './permission';
import { reviewColumn } from './reviews/review-column';

const { lastEntry: _, requestEntry: __, ...shownColumns } = getTableColumns(permissions);

/** The columns of a {@link PermissionRow}. */
export const permissionColumns = {
  ...shownColumns,
  id: asHex(permissions.id),
  mac: asHex(permissions.mac),
  connectionId: asHex(permissions.connectionId),
  agentId: asHex(agents.id),
  agentIsActive: aliased(agents.isActive, 'agent_is_active'),
};

/** The columns of a {@link ReviewedPermission}, with the review as it is at a time. */
export function reviewedColumns(now: number | SQL) {
  return { ...permissionColumns, review: reviewColumn(now) };
}

/**
 * Selects a permission of an account, without its review. Finds nothing if its agent has been
 * deleted.
 */
export function findPermission(account: number | SQL<number>, id: Id<'perm'>) {
  return selectPermission(account, { id });
}

const selectPermission = prepareByAccount((select, account) =>
  select(permissionColumns)
    .from(permissions)
    .innerJoin(agents, isAgentOfPermission)
    .where(isPermissionWithId(account, PERMISSION_ID)),
);

/** The condition that finds a permission of an account. */
export function isPermissionWithId(account: number | SQL<number>, id: Id<'perm'> | SQL) {
  return and(eq(permissions.account, account), eq(permissions.id, id));
}

/** The placeholder `id` of a prepared query, for the id of a permission. */
export const PERMISSION_ID = sql`${sql.param(sql.placeholder('id'), permissions.id)}`;

/** The placeholder `account` of a prepared statement, for the number of an account. */
export const ACCOUNT = sql<number>`${sql.placeholder('account')}`;

/** The placeholder `now` of a prepared query. */
export const NOW = sql`${sql.placeholder('now')}`;

/** Preloads the permission in the path. */
export async function preloadPermission(c: RequestContext, _: Reader, { account }: CallerSql) {
  const id = parseId('perm', c.req.param('id') ?? '');
  return { permission: id && findReviewedPermission(account, id, c.var.runtime.now()) };
}

/** Selects a permission of an account with its review as it is at a time. */
export function findReviewedPermission(account: SQL<number>, id: Id<'perm'>, now: number) {
  return selectReviewed(account, { id, now });
}

const selectReviewed = prepareByAccount((select, account) =>
  select(reviewedColumns(NOW))
    .from(permissions)
    .innerJoin(agents, isAgentOfPermission)
    .where(isPermissionWithId(account, PERMISSION_ID)),
);

/**
 * The loaded permission; null if there is none, or if it belongs to another agent than the one that
 * calls.
 */
export function visiblePermission<R extends PermissionRow>(
  principal: Principal,
  permission: R | undefined,
): R | null {
  if (!permission || (principal.kind === 'agent' && permission.agent !== principal.agent.number))
    return null;
  return permission;
}

/**
 * The loaded permission.
 * @throws Problem `not_found` if there is none, or the caller may not see it
 */
export function requirePermission<R extends PermissionRow>(
  principal: Principal,
  permission: R | undefined,
): R {
  const row = visiblePermission(principal, permission);
  if (!row) throw notFound('permission');
  return row;
}

/**
 * Returns a loaded permission if it still waits for a decision.
 * @throws Problem `not_found`; `not_pending` if it is already decided or has expired
 */
export function requirePending(
  { principal, runtime }: Context,
  permission: ReviewedPermission | undefined,
): ReviewedPermission {
  const row = requirePermission(principal, permission);
  const status = statusAt(row, runtime.now());
  if (status !== 'pending') throw notPending(`is ${status} already`);
  return row;
}

/** The problem of a decision on a request that no longer waits for one. */
export function notPending(why: string): Problem {
  return new Problem('not_pending', `The request ${why}.`);
}
