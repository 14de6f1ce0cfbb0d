import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { Reader } from '../db/database';
import { policies, type ReviewRule } from '../db/schema';
import { invalidRequest } from '../errors';
import { userActivity } from '../http/activity';
import type { UserContext } from '../http/context';
import type { Guard } from '../ledger/guard';
import type { FurtherChange } from '../ledger/ledger';
import { toHex } from '../lib/bytes';
import { shorten } from '../lib/text';
import { type Id, idBytes } from '../lib/typeid';
import { showUnseen } from '../lib/unseen';
import { countReviewersByRuleSql } from '../permissions/reviews/count-reviewers';
import { ruleSql } from '../permissions/reviews/reviewers';
import { ownMembersGuard } from './guards';
import { isPolicyWithId, type PolicyRow } from './policy';
import { asReadGuard } from './update';

/** Maximum number of characters of a policy's name in the message of a guard. */
const MAX_NAME = 60;

/** Selects the review policies that name a member, as a reviewer or after an escalation. */
export function selectPoliciesNaming(reader: Reader, account: SQL<number>, member: Id<'member'>) {
  const isNamed = sql`instr(${policies.review}, ${toHex(idBytes(member))}) > 0`;
  return reader
    .select()
    .from(policies)
    .where(and(eq(policies.account, account), eq(policies.effect, 'review'), isNamed))
    .orderBy(policies.id);
}

interface Replacement {
  /** The policies that name the reviewer. */
  named: readonly PolicyRow[];
  reviewer: Id<'member'>;
  replacement: Id<'member'>;
}

/**
 * Builds the change that names another member in place of a reviewer, for the transaction that
 * removes or suspends the reviewer, or gives them a role that may not decide. Its guards throw
 * `invalid_request` if a policy would then have too few reviewers, or if the other member is not an
 * active or invited member of the account, and `conflict` if a policy was changed at the same time.
 */
export function replaceReviewer(
  context: UserContext,
  { named, reviewer, replacement }: Replacement,
): FurtherChange {
  const account = context.principal.account.number;
  const updatedAt = context.runtime.now();
  const changed = named.flatMap((policy) => {
    if (!policy.review) return [];
    return [{ policy, review: replaceIn(policy.review, reviewer, replacement) }];
  });
  const found = ({ id }: PolicyRow) => isPolicyWithId(account, id);
  return {
    records: changed.map(({ policy }) =>
      userActivity(context, 'policy.updated', policy.id, { changes: ['review'] }),
    ),
    guards: [
      replacementGuard(account, replacement),
      ...changed.flatMap(({ policy, review }, index) => [
        { ...asReadGuard(policy), name: `policy_${index}_is_as_read` },
        enoughReviewersGuard(policy, review, { index, without: reviewer }),
      ]),
    ],
    changes: (write) =>
      changed.map(({ policy, review }) =>
        write.update(policies).set({ review, updatedAt }).where(found(policy)),
      ),
  };
}

function replaceIn(
  rule: ReviewRule,
  reviewer: Id<'member'>,
  replacement: Id<'member'>,
): ReviewRule {
  const replace = (ids: Id<'member'>[] | null) =>
    ids && [...new Set(ids.map((id) => (id === reviewer ? replacement : id)))];
  const { members, escalation } = rule;
  return {
    ...rule,
    members: replace(members),
    escalation: escalation && { ...escalation, members: replace(escalation.members) },
  };
}

function replacementGuard(account: number, replacement: Id<'member'>): Guard {
  const message = 'must be an active or invited member of the account';
  return {
    ...ownMembersGuard(account, 'review', [replacement]),
    otherwise: () => invalidRequest([{ path: 'body.replacement', message }]),
  };
}

function enoughReviewersGuard(
  { account, name }: PolicyRow,
  rule: ReviewRule,
  { index, without }: { index: number; without: Id<'member'> },
): Guard {
  const reviewers = countReviewersByRuleSql(account, ruleSql(rule), {
    agentOwner: sql`null`,
    limit: rule.approvals,
    without: sql`${idBytes(without)}`,
  });
  const message =
    `leaves “${shorten(showUnseen(name), MAX_NAME)}” with too few reviewers: it needs ${rule.approvals}. ` +
    'An invited member counts once they have joined.';
  return {
    name: `policy_${index}_has_enough_reviewers`,
    holds: sql`${reviewers} >= ${rule.approvals}`,
    otherwise: () => invalidRequest([{ path: 'body.replacement', message }]),
  };
}
