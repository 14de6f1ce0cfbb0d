import { type SQL, sql } from 'drizzle-orm';
import { ConstraintError } from '../db/database';
import { type ActivityAction, accounts } from '../db/schema';
import { notFound } from '../errors';
import type { ActivityRecord } from '../ledger/ledger';
import type { Id } from '../lib/typeid';
import { newId, type OperatorContext, type UserContext } from './context';

/**
 * Makes the activity record of a user's change.
 * @param account the account's number, or SQL for it that yields null if the target does not exist
 */
export function userActivity(
  { principal, runtime, origin }: UserContext,
  action: ActivityAction,
  target: string,
  {
    changes = [],
    account = principal.account.number,
  }: { changes?: string[]; account?: ActivityRecord['account'] } = {},
): ActivityRecord {
  return {
    id: newId(runtime, 'act'),
    account,
    actor: principal.token ?? principal.account.id,
    action,
    target,
    changes,
    ...origin,
    createdAt: runtime.now(),
  };
}

/**
 * Makes the activity record of an operator's change.
 * @param account SQL for the account's number
 */
export function operatorActivity(
  { runtime, origin }: OperatorContext,
  action: ActivityAction,
  target: string,
  account: SQL<number>,
  changes: string[] = [],
): ActivityRecord {
  return {
    id: newId(runtime, 'act'),
    account,
    actor: 'operator',
    action,
    target,
    changes,
    ...origin,
    createdAt: runtime.now(),
  };
}

/** SQL for the number of an account. */
export function accountNumberSql(id: Id<'user'>): SQL<number> {
  return sql<number>`(select number from ${accounts} where ${accounts.id} = ${sql.param(id, accounts.id)})`;
}

/** Makes an error handler that answers `not_found` for a change whose target does not exist. */
export function asNotFound(what: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof ConstraintError ? notFound(what) : error;
  };
}
