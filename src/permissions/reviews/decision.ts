import type { passkeys, VoteSignature } from '../../db/schema';
import type { UserContext } from '../../http/context';
import type { Narrowing } from '../limits';
import type { ReviewedPermission } from '../permission';
import type { DecisionSource, Limits, VoteDecision } from './review';
import type { Voter } from './voter';

/** The decision of a person about a permission. */
export interface Decision {
  kind: VoteDecision;
  narrowed: Narrowing;
  reason: string | null;
  via: DecisionSource;
}

/** The state on which the decision depends, as it was read last. */
export interface DecisionState {
  permission: ReviewedPermission | undefined;
  /**
   * How the caller stands to the review; undefined if there is none, or the caller is no member.
   */
  voter: Voter | undefined;
  /** The caller's passkey that signed the decision. */
  passkey: typeof passkeys.$inferSelect | undefined;
  /** The passkeys of those who voted before and signed, removed ones too. */
  voterPasskeys: (typeof passkeys.$inferSelect)[];
}

export interface DecidingContext extends UserContext {
  /** Reads the state again, after authenticating the caller again. */
  reload: () => Promise<DecisionState>;
  /**
   * Verifies the passkey's signature over the decision. Takes the limits, because earlier votes may
   * have narrowed them. Null if the decision is unsigned.
   * @throws Problem `invalid_assertion`
   */
  verifySignature:
    | ((
        row: ReviewedPermission,
        limits: Limits,
        passkey: DecisionState['passkey'],
      ) => Promise<VoteSignature>)
    | null;
}
