import { type SQL, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { ActivityAction } from '../db/activity-actions';
import { accounts } from '../db/schema';
import { notFound } from '../errors';
import { type Guard, hasRow } from '../ledger/guard';
import type { ActivityRecord } from '../ledger/insert-records';
import type { Id } from '../lib/typeid';
import { newId, type OperatorContext, type UserContext, type UserPrincipal } from './context';

/**
 * The id under which the activity of a user is recorded: that of the member, or of the account's
 * own token.
 */
export function actorOf({ member, token, account }: UserPrincipal) {
  return member?.id ?? token ?? account.id;
}

/**
 * The id under which a record names who made it: that of the member, or of the account for its own
 * token.
 */
export function creatorOf({ member, account }: UserPrincipal): Id<'member' | 'user'> {
  return member?.id ?? account.id;
}

/** The name of the operator in activity and in records that the operator made. */
export const OPERATOR = 'operator';

/** Makes the activity record of a user's change. */
export function userActivity(
  context: UserContext,
  action: ActivityAction,
  target: string,
  { changes = [] }: { changes?: string[] } = {},
): ActivityRecord {
  const { principal } = context;
  const actor = actorOf(principal);
  return makeActivityRecord(context, {
    account: principal.account.number,
    actor,
    action,
    target,
    changes,
  });
}

/**
 * Makes the activity record of an operator's change.
 * @param account the number of the account; SQL for an account that the same change creates
 */
export function operatorActivity(
  context: OperatorContext,
  action: ActivityAction,
  target: string,
  account: ActivityRecord['account'],
  changes: string[] = [],
): ActivityRecord {
  return makeActivityRecord(context, { account, actor: OPERATOR, action, target, changes });
}

/**
 * Makes an activity record with a new id, the current time, and the client's address and user
 * agent.
 */
export function makeActivityRecord(
  { runtime, origin }: Pick<UserContext, 'runtime' | 'origin'>,
  fields: Pick<ActivityRecord, 'account' | 'actor' | 'action' | 'target' | 'changes'>,
): ActivityRecord {
  return { ...fields, ...origin, id: newId(runtime, 'act'), createdAt: runtime.now() };
}

/** SQL for the number of an account that the same change creates. */
export function accountNumberSql(id: Id<'user'>): SQL<number> {
  return sql<number>`(select number from ${accounts} where ${accounts.id} = ${sql.param(id, accounts.id)})`;
}

/**
 * The guard of a change to a record that must exist.
 * @param what the record in the answer `not_found`
 */
export function targetExists(what: string, table: SQLiteTable, found: SQL | undefined): Guard {
  return { name: 'target_exists', holds: hasRow(table, found), otherwise: () => notFound(what) };
}
