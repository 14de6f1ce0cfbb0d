import { type SQL, sql } from 'drizzle-orm';
import type { ActivityAction } from '../db/activity-actions';
import { ConstraintError } from '../db/database';
import { accounts } from '../db/schema';
import { notFound } from '../errors';
import type { ActivityRecord } from '../ledger/ledger';
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

/**
 * Makes the activity record of a user's change.
 * @param account the number of the account that the target belongs to, or SQL for it: NULL, which
 *   aborts the change, if the target does not exist
 */
export function userActivity(
  context: UserContext,
  action: ActivityAction,
  target: string,
  { changes = [], account }: { changes?: string[]; account?: ActivityRecord['account'] } = {},
): ActivityRecord {
  const { principal } = context;
  const actor = actorOf(principal);
  return makeActivityRecord(context, {
    account: account ?? principal.account.number,
    actor,
    action,
    target,
    changes,
  });
}

/**
 * Makes the activity record of an operator's change.
 * @param account as for {@link userActivity}
 */
export function operatorActivity(
  context: OperatorContext,
  action: ActivityAction,
  target: string,
  account: SQL<number>,
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

/** SQL for the number of an account; NULL if this shard has no such account. */
export function accountNumberSql(id: Id<'user'>): SQL<number> {
  return sql<number>`(select number from ${accounts} where ${accounts.id} = ${sql.param(id, accounts.id)})`;
}

/**
 * Makes a rejection handler for `ledger.change`: it throws `not_found` for a violated constraint,
 * which means that the target does not exist, and any other error unchanged.
 */
export function asNotFound(what: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof ConstraintError ? notFound(what) : error;
  };
}
