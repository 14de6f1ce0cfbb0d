import { Problem } from '../../errors';
import type { UserContext } from '../../http/context';
import type { Id } from '../../lib/typeid';
import type { ReviewState, VoteDecision } from './review';

/** How a member stands to the review of a permission. */
export interface Voter {
  name: string | null;
  /** Whether the member is a reviewer, apart from the ban on self-approval. */
  isEligible: boolean;
  /** Whether the member owns the agent, or did when it asked. */
  isOwner: boolean;
}

/** The ways in which a member whose role may decide can act on a pending permission. */
export type Standing =
  /**
   * Approve or deny it: no review policy applies, or the member is a reviewer who has not approved
   * yet.
   */
  | 'may_decide'
  /** Deny it: the member has approved, and it waits for more approvals. */
  | 'has_approved'
  /** Deny it: the member owns the agent, and the review does not let them approve. */
  | 'owns_agent'
  /** Nothing: others review it. */
  | 'not_a_reviewer';

/**
 * Returns how a member can act on a pending permission with this review; the decision itself checks
 * it again.
 */
export function standingOf(
  review: ReviewState | null,
  voter: Pick<Voter, 'isEligible' | 'isOwner'> | null | undefined,
  member: Id<'member'> | undefined,
): Standing {
  if (!review) return 'may_decide';
  const mayApproveOwn = voter?.isEligible && review.rule.allow_self;
  if (voter?.isOwner && !mayApproveOwn) return 'owns_agent';
  if (!voter?.isEligible) return 'not_a_reviewer';
  if (hasApproved(review, member)) return 'has_approved';
  return 'may_decide';
}

function hasApproved({ votes }: ReviewState, member: Id<'member'> | undefined): boolean {
  return votes.some(({ by, decision }) => by === member && decision === 'approve');
}

/** A decision that a caller wants to take. */
interface Attempt {
  review: ReviewState | null;
  voter: Voter | undefined;
  decision: VoteDecision;
  isSigned: boolean;
  /** Whether the decision gives a series. */
  givesSeries: boolean;
}

/**
 * Requires that the caller may decide as the review says, and is a member to sign or to give a
 * series. The agent's owner may always deny.
 * @throws Problem `person_required`, `not_a_reviewer`, `self_approval`, `already_voted`,
 *   `passkey_required`
 */
export function requireMayDecide(
  { principal: { member } }: UserContext,
  { review, voter, decision, isSigned, givesSeries }: Attempt,
): void {
  if (isSigned && !member) throw personRequired('Only a member can sign a decision.');
  if (givesSeries && !member) throw personRequired('Only a member can give a series.');
  if (!review) return;
  if (!member || !voter) {
    throw personRequired(
      'A review policy applies: only a member with their own credential can decide.',
    );
  }
  const isApproval = decision === 'approve';
  if (!voter.isEligible && (isApproval || !voter.isOwner)) {
    throw new Problem('not_a_reviewer', 'You are not one of the reviewers of this request.');
  }
  if (!isApproval) return;
  if (voter.isOwner && !review.rule.allow_self) {
    throw new Problem(
      'self_approval',
      'You own the agent, or owned it when it asked. You can deny the request, but not approve it.',
    );
  }
  if (hasApproved(review, member.id)) {
    throw new Problem('already_voted', 'You have approved this request already.');
  }
  if (review.rule.passkey && !isSigned) {
    throw new Problem(
      'passkey_required',
      'Approvals of this request have to be signed with a passkey (`assertion`).',
    );
  }
}

export function personRequired(detail: string): Problem {
  return new Problem('person_required', detail);
}
