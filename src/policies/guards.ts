import { sql } from 'drizzle-orm';
import { codeOf } from '../db/columns';
import { MEMBER_STATUSES, type ReviewRule } from '../db/schema';
import { invalidRequest } from '../errors';
import { ownAgentsGuard } from '../ledger/agents-guard';
import type { Guard } from '../ledger/guard';
import { toHex } from '../lib/bytes';
import { type Id, idBytes } from '../lib/typeid';
import { countReviewersByRuleSql } from '../permissions/reviews/count-reviewers';
import { ruleSql } from '../permissions/reviews/reviewers';

/** The fields that the guards of a policy check. Undefined fields are not checked. */
interface CheckedFields {
  agentIds?: readonly Id<'agent'>[] | null | undefined;
  /** The rule whose members must be of the account. */
  namedBy?: ReviewRule | null | undefined;
  /** The rule that must have enough reviewers. */
  rule?: ReviewRule | null | undefined;
}

/**
 * The guards of a change that stores a policy: its agents and reviewers are of the account, and its
 * rule has enough reviewers.
 */
export function policyGuards(account: number, { agentIds, namedBy, rule }: CheckedFields): Guard[] {
  const guards: Guard[] = [];
  if (agentIds) guards.push(ownAgentsGuard(account, agentIds));
  if (namedBy?.members) guards.push(ownMembersGuard(account, 'review', namedBy.members));
  const escalation = namedBy?.escalation?.members;
  if (escalation) guards.push(ownMembersGuard(account, 'review.escalation', escalation));
  if (rule) guards.push(enoughReviewersGuard(account, rule));
  return guards;
}

/** Removed members are none. Suspended ones cannot be named: they may never come back. */
export function ownMembersGuard(
  account: number,
  field: 'review' | 'review.escalation',
  ids: readonly Id<'member'>[],
): Guard {
  const statuses = sql.join(
    (['active', 'invited'] as const).map((status) => codeOf(MEMBER_STATUSES, status)),
    sql`, `,
  );
  const message = 'must be active or invited members of this account';
  return {
    name: field === 'review' ? 'reviewers_are_members' : 'escalation_reviewers_are_members',
    holds: sql`not exists (
      select 1 from json_each(${hexList(ids)}) as named where not exists (
        select 1 from members
        where members.account = ${account} and members.id = unhex(named.value) and members.status in (${statuses}))
    )`,
    otherwise: () => invalidRequest([{ path: `body.${field}.members`, message }]),
  };
}

function enoughReviewersGuard(account: number, rule: ReviewRule): Guard {
  const reviewers = countReviewersByRuleSql(account, ruleSql(rule), {
    agentOwner: sql`null`,
    limit: rule.approvals,
  });
  return {
    name: 'policy_has_enough_reviewers',
    holds: sql`${reviewers} >= ${rule.approvals}`,
    otherwise: () =>
      invalidRequest([
        { path: 'body.review.approvals', message: 'must be at most the number of reviewers' },
      ]),
  };
}

function hexList(ids: readonly Id<'agent' | 'member'>[]): string {
  return JSON.stringify(ids.map((id) => toHex(idBytes(id))));
}
