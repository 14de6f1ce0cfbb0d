import { and, gt, inArray, type SQL, sql } from 'drizzle-orm';
import { codeOf } from '../../db/columns';
import { agents, OUTCOME_STATES, permissions, TOKEN_STATUSES } from '../../db/schema';
import { prepareWrite } from '../../db/statements';
import type { AgentContext, Context } from '../../http/context';
import { appendedSequence } from '../../ledger/append';
import type { Entry } from '../../ledger/entry';
import type { Guard } from '../../ledger/guard';
import type { StateWriter } from '../../ledger/ledger';
import { withPrefix } from '../../lib/typeid';
import { type ClaimedSubject, draftPermissionEntry } from '../draft-entry';
import { ACCOUNT, isPermissionWithId, NOW, PERMISSION_ID } from '../find-permission';
import { REPORT_PERIOD } from '../outcomes/outcome';
import type { GrantedToken, PermissionRow } from '../permission';

/** Makes the entry of one use of a token. */
export function draftUse(
  context: Context | AgentContext,
  row: ClaimedSubject & Pick<PermissionRow, 'policyId'>,
  { scope }: Pick<GrantedToken, 'scope'>,
): Entry {
  return draftPermissionEntry(context, row, 'use', {
    scope,
    policy_id: row.policyId,
    token_id: withPrefix('token', row.id),
  });
}

/**
 * The guard of a use: nobody took the last one at the same time. It holds for a token that is
 * revoked or has expired: then {@link countUse} matches no row.
 */
export function usesLeftGuard(
  row: Pick<PermissionRow, 'account' | 'id'>,
  now: number,
  otherwise: () => Error,
): Guard {
  return {
    name: 'token_has_uses_left',
    holds: sql`not exists (
      select 1 from ${permissions}
      where ${isPermissionWithId(row.account, row.id)} and ${isLive(now)}
        and ${permissions.tokenUses} >= ${permissions.tokenMaxUses}
    )`,
    otherwise,
  };
}

/**
 * Makes the statement that counts one use of a token and returns the numbers of uses. The outcome
 * is then awaited if one was promised. It matches no permission whose token was revoked or has
 * expired, or whose agent is inactive. A guard must check that a use is left.
 * @param usedBy who takes the use, and so reports the outcome
 */
export function countUse(
  write: Pick<StateWriter, 'update'>,
  { account, id }: Pick<PermissionRow, 'account' | 'id'>,
  { usedBy, now }: { usedBy: string; now: number },
) {
  return countStatement(write, { account, id, usedBy, now });
}

const countStatement = prepareWrite((write: Pick<StateWriter, 'update'>) => {
  const isPromised = sql`outcome_state = ${codeOf(OUTCOME_STATES, 'promised')}`;
  return write
    .update(permissions)
    .set({
      tokenUses: sql`token_uses + 1`,
      tokenStatus: sql`iif(token_uses + 1 >= token_max_uses,
        ${codeOf(TOKEN_STATUSES, 'used')}, ${codeOf(TOKEN_STATUSES, 'active')})`,
      lastEntry: appendedSequence(ACCOUNT),
      updatedAt: NOW,
      outcomeState: sql`iif(${isPromised}, ${codeOf(OUTCOME_STATES, 'awaited')}, outcome_state)`,
      usedBy: sql`iif(${isPromised}, ${sql.placeholder('usedBy')}, used_by)`,
      outcomeDueAt: sql`iif(${isPromised}, ${NOW} + ${REPORT_PERIOD}, outcome_due_at)`,
    })
    .where(and(isPermissionWithId(ACCOUNT, PERMISSION_ID), isLive(NOW)))
    .returning({ uses: permissions.tokenUses, maxUses: permissions.tokenMaxUses });
});

/**
 * Finds the permission only while its token is neither revoked nor expired and its agent is active.
 */
function isLive(now: number | SQL) {
  return and(
    inArray(permissions.tokenStatus, ['active', 'used']),
    gt(permissions.tokenExpiresAt, now),
    sql`exists (select 1 from ${agents} where ${agents.number} = ${permissions.agent} and ${agents.isActive} = 1)`,
  );
}
