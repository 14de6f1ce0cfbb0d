import * as z from 'zod';
import {
  DECISION_SOURCES,
  type ReviewRule,
  type SeriesTerms,
  VOTE_DECISIONS,
  type VoteSignature,
} from '../../db/schema';
import { EXAMPLE, exampleId } from '../../http/examples';
import { countField, idField, objectField, timeField } from '../../http/response-fields';
import { ReviewRuleField } from '../../http/review-rule';
import { Series } from '../../http/series';
import type { EntryVote } from '../../ledger/entry';
import { equalJson, type JsonObject } from '../../lib/json';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { formatTime, formatTimeOrNull } from '../../lib/time';
import type { Id } from '../../lib/typeid';

/** The limits of a token. The lifetime is in seconds. */
export interface TokenLimits {
  scope: JsonObject;
  tokenTtl: number;
  maxUses: number;
}

/** The limits that an approval grants. */
export interface Limits extends TokenLimits {
  /** The series that it gives; null if it approves only this request. */
  series: SeriesTerms | null;
}

export type VoteDecision = (typeof VOTE_DECISIONS)[number];

export type DecisionSource = (typeof DECISION_SOURCES)[number];

/** What a member decided. */
export interface MemberDecision extends Limits {
  by: Id<'member'>;
  decision: VoteDecision;
  reason: string | null;
  via: DecisionSource;
  signature: VoteSignature | null;
  /** Milliseconds since the epoch. */
  at: number;
}

/** What a member decided in a review. */
export interface Vote extends MemberDecision {
  /** Its number in the review, from 1. */
  ordinal: number;
  /** Null if the member has no name, or was erased. */
  name: string | null;
  /** Whether the voter may still approve the permission; true for all votes once it has ended. */
  counts: boolean;
  /** See `voteContent`. Null if the stored row has none. */
  mac: Uint8Array | null;
}

/** The review of a permission at one moment. */
export interface ReviewState {
  policyId: Id<'policy'>;
  /** The `updated_at` of the policy when it routed the request. */
  policyUpdatedAt: number;
  rule: ReviewRule;
  /** The member who owned the agent when it made the request; null if nobody did. */
  owner: Id<'member'> | null;
  /** The limits that the next approval may narrow, and the last one grants. */
  proposal: Limits;
  escalatesAt: number | null;
  escalatedAt: number | null;
  /** The time for which it was read, in milliseconds since the epoch. */
  readAt: number;
  /**
   * How many people may approve it while it is pending, counted up to the maximum number that a
   * review can demand.
   */
  reviewers: number;
  /** In the order in which they came. */
  votes: Vote[];
  /** The number of the next vote. */
  nextOrdinal: number;
}

/** The approvals of people who may still approve; all approvals once the permission has ended. */
export function countingApprovals({ votes }: ReviewState): Vote[] {
  return votes.filter(({ decision, counts }) => decision === 'approve' && counts);
}

/** How many people have voted; 0 without a review. */
export function countVotes({ review }: { review: ReviewState | null }): number {
  return review?.votes.length ?? 0;
}

/** How many more approvals a pending permission needs. */
export function approvalsLeft(review: ReviewState): number {
  return review.rule.approvals - countingApprovals(review).length;
}

const ReviewVote = lazy(() =>
  z
    .object({
      by: idField('member'),
      name: z.string().nullable(),
      decision: z.enum(VOTE_DECISIONS),
      scope: objectField,
      token_ttl: countField,
      max_uses: countField,
      series: Series().optional().meta({ description: 'The series that it gives.' }),
      reason: z.string().nullable(),
      via: z.enum(DECISION_SOURCES),
      signed: z.boolean().meta({ description: 'Whether the voter signed it with a passkey.' }),
      at: timeField,
    })
    .meta({ id: 'ReviewVote', description: 'What one person decided.' }),
);

/**
 * The review of a permission as the API shows it. Agents see how long it may take, and not who
 * decides.
 */
export const Review = lazy(() => {
  const { members, roles, passkey, allow_self } = ReviewRuleField().shape;
  return z
    .object({
      approvals_required: countField,
      escalates_at: timeField
        .nullable()
        .meta({ description: 'When more people become reviewers.' }),
      short_of_reviewers: z.boolean().meta({
        description:
          'Whether it cannot be approved, because there are fewer reviewers than it needs.',
      }),
      policy_id: idField('policy').nullable().optional(),
      members: members.optional(),
      roles: roles.optional(),
      passkey: passkey.optional(),
      allow_self: allow_self.optional(),
      proposal: z
        .object({
          scope: objectField,
          token_ttl: countField,
          max_uses: countField,
          series: Series()
            .nullable()
            .optional()
            .meta({ description: 'Absent if the agent asked for none.' }),
        })
        .optional()
        .meta({
          description:
            'What the votes so far have left of the request. The last approval grants it.',
        }),
      escalated_at: timeField.nullable().optional(),
      votes: z.array(ReviewVote()).optional(),
    })
    .meta({
      id: 'Review',
      description:
        'How a review policy has the permission decided. To agents, only `approvals_required`, `escalates_at` and `short_of_reviewers` are shown.',
      examples: [
        {
          approvals_required: 2,
          escalates_at: null,
          short_of_reviewers: false,
          policy_id: exampleId('policy'),
          members: null,
          roles: ['approver'],
          passkey: false,
          allow_self: false,
          proposal: { scope: EXAMPLE.narrowedScope, token_ttl: 900, max_uses: 1 },
          escalated_at: null,
          votes: [],
        },
      ],
    });
});

export type Review = LazyOutput<typeof Review>;

/**
 * Shows the review of a permission.
 * @param isPending whether the permission waits for votes
 * @param asksSeries whether the agent asked for a series
 * @param toAgent whether it is shown to the agent, who sees no reviewers and votes
 */
export function presentReview(
  review: ReviewState,
  { isPending, asksSeries, toAgent }: { isPending: boolean; asksSeries: boolean; toAgent: boolean },
): Review {
  const { policyId, rule, proposal, escalatesAt, escalatedAt, reviewers, votes } = review;
  const shared = {
    approvals_required: rule.approvals,
    escalates_at: formatTimeOrNull(escalatesAt),
    short_of_reviewers: isPending && reviewers < rule.approvals,
  };
  if (toAgent) return shared;
  return {
    policy_id: policyId,
    ...shared,
    members: rule.members,
    roles: rule.roles,
    passkey: rule.passkey,
    allow_self: rule.allow_self,
    proposal: {
      scope: proposal.scope,
      token_ttl: proposal.tokenTtl,
      max_uses: proposal.maxUses,
      ...(asksSeries && { series: proposal.series }),
    },
    escalated_at: formatTimeOrNull(escalatedAt),
    votes: votes.map((vote) => ({ ...presentVote(vote), name: vote.name, scope: vote.scope })),
  };
}

function presentVote(vote: MemberDecision) {
  const { by, decision, tokenTtl, maxUses, series, reason, via, signature, at } = vote;
  return {
    by,
    decision,
    token_ttl: tokenTtl,
    max_uses: maxUses,
    ...(series && { series }),
    reason,
    via,
    signed: signature !== null,
    at: formatTime(at),
  };
}

/**
 * The votes as the audit entry that ends a request has them. A vote has its scope where that
 * differs from the scope of the vote before, or of the request for the first one.
 */
export function entryVotes(requested: JsonObject, votes: readonly MemberDecision[]): EntryVote[] {
  let last = requested;
  return votes.map((vote) => {
    const differs = !equalJson(vote.scope, last);
    last = vote.scope;
    return {
      ...presentVote(vote),
      ...(differs && { scope: vote.scope }),
      ...(vote.signature && { signature: vote.signature }),
    };
  });
}

/** A request whose review ended without a decision. */
interface Undecided {
  scope: JsonObject;
  inputDigest: string | null;
  previewDigest: string | null;
  review: Pick<ReviewState, 'policyId' | 'votes'> | null;
}

/**
 * The details about a review in the entry that ends it without a decision; none without a review.
 * The digests are part of what the votes signed.
 */
export function reviewDetails({ scope, inputDigest, previewDigest, review }: Undecided) {
  return (
    review && {
      votes: entryVotes(scope, review.votes),
      review_policy_id: review.policyId,
      input_digest: inputDigest,
      preview_digest: previewDigest,
    }
  );
}
