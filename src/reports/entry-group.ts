import type { EventType } from '../db/schema';
import type { EntryVote } from '../ledger/entry';
import { SECOND } from '../lib/time';
import type { CountedOutcome } from './outcomes';

/**
 * A person's decision is quick if it comes at most this long after the request, in milliseconds.
 */
export const QUICK_DECISION_MS = 5 * SECOND;

/**
 * A denial is retried if one of the agent's next requests for the action, up to this many, is for
 * the same resource.
 */
export const RETRY_WINDOW = 5;

/**
 * Bits of {@link EntryGroup.flags}: what the database finds out about an entry besides its event
 * type.
 */
export const FLAGS = {
  /** A person took this decision quickly. */
  quick: 1,
  /** The agent repeated the request that this denial is about: see {@link RETRY_WINDOW}. */
  retried: 2,
  /** This use is the first of its token in the period. */
  firstUse: 4,
  /** This expiry is that of an unused token, not of an undecided request. */
  unusedToken: 8,
  /** This expiry is a withdrawal by the agent. */
  withdrawn: 16,
  /** This decision was taken under a review policy. */
  reviewed: 32,
};

/**
 * A vote in the entry that ends a request. All votes in the entry of an approval are approvals: one
 * denial settles.
 */
export type CountedVote = Pick<EntryVote, 'by' | 'signed'>;

/** Stands for the decider of an approval by a series: those who gave it are its votes. */
export const BY_SERIES = 'series';

/**
 * Entries that count alike: they have the same agent, month, event type, decider, flags, votes and
 * outcome.
 */
export interface EntryGroup {
  /** The agent's number. */
  agent: number;
  /** `YYYY-MM`, in UTC. */
  month: string;
  event: EventType;
  /**
   * The id of the member, account or policy that approved or denied; {@link BY_SERIES} for an
   * approval by a series; empty for other events.
   */
  decider: string;
  /**
   * In the order in which they came. The last one of a decision is the decider's. Of an approval by
   * a series, those who gave it.
   */
  votes: CountedVote[];
  /** The outcome of a use; empty for other events. */
  outcome: CountedOutcome;
  /** A sum of {@link FLAGS}. */
  flags: number;
  /** The number of entries. */
  entries: number;
  /** The positions (`pos` in the database) of the first and the last entry. */
  first: number;
  last: number;
  /** The positions of the first {@link MAX_EXAMPLES} entries, in ascending order. */
  examples: number[];
  /** The positions of the first {@link MAX_LISTED_OUTCOMES} uses with an unknown outcome. */
  unknown: number[];
}

export function isReviewed({ flags }: EntryGroup): boolean {
  return (flags & FLAGS.reviewed) !== 0;
}

/**
 * Whether somebody approved the requests of a group: by a vote, or by a decision without a review.
 */
export function isApprovedBy(
  { event, decider, votes }: EntryGroup,
  member: string | null,
): boolean {
  if (event !== 'approve' || member === null) return false;
  return decider === member || votes.some(({ by }) => by === member);
}
