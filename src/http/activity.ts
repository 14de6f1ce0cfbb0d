import { type SQL, sql } from 'drizzle-orm';
import { ConstraintError } from '../db/database';
import { type ActivityAction, accounts } from '../db/schema';
import { notFound } from '../errors';
import type { ActivityRecord } from '../ledger/activity-record';
import type { Id } from '../lib/typeid';
import { newId, type OperatorContext, type UserContext } from './context';

/**
 * Notes what a user did to their account.
 * @param account where the target may be missing: SQL that finds the account's number only if it is there
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

/** Notes what the operator did to an account, which `account` is SQL for. */
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

/** The number of an account, as SQL. */
export function accountNumber(id: Id<'user'>): SQL<number> {
  return sql<number>`(select number from ${accounts} where ${accounts.id} = ${sql.param(id, accounts.id)})`;
}

/** Makes the refusal of a change whose target is not there, for a `catch`. */
export function asNotFound(what: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof ConstraintError ? notFound(what) : error;
  };
}
