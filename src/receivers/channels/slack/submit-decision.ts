import { Problem } from '../../../errors';
import type { UserContext } from '../../../http/context';
import { CredentialEnded } from '../../../ledger/authority';
import { decidePermission } from '../../../permissions/decide';
import type { Decision, DecisionState } from '../../../permissions/reviews/decision';
import { countVotes } from '../../../permissions/reviews/review';
import { findObstacle, MAY_NOT_DECIDE, NO_REQUEST, proposalOf } from './decidable';
import type { Interaction } from './interaction';
import { DECIDED_ELSEWHERE } from './message';
import { makeRefusal, type Refusal, readFields } from './read-fields';

export type Submission = Extract<Interaction, { kind: 'submission' }>;

export const LINK_ENDED =
  'Your Slack account is not linked to a member any more. Close this, and press the button of the ' +
  'message to link it again.';
const VOTED_MEANWHILE =
  'Somebody voted after you opened this. Close it, and press the button of the message again to ' +
  'see what is left.';

/** A request of Slack in which a linked member acts. */
export interface LinkedContext extends UserContext {
  /** Reads the state again; fails if the link has ended. */
  reload: () => Promise<DecisionState>;
}

/**
 * Decides a permission as a submitted modal says, as the linked member and by the same function as
 * the API.
 * @returns what is wrong, for the person; null if the decision was taken
 */
export async function submitDecision(
  context: LinkedContext,
  { votes, values }: Submission,
  state: DecisionState,
): Promise<Refusal | null> {
  const { principal, runtime } = context;
  const row = state.permission;
  if (!row) return makeRefusal(NO_REQUEST);
  const obstacle = findObstacle(row, runtime.now());
  if (obstacle !== null) return makeRefusal(obstacle);
  if (!principal.scopes.includes('permissions:decide')) return makeRefusal(MAY_NOT_DECIDE);
  if (countVotes(row) !== votes) return makeRefusal(VOTED_MEANWHILE);
  const submitted = readFields(values, proposalOf(row));
  if ('errors' in submitted) return submitted;
  const { decision: kind, reason, ...narrowed } = submitted;
  const decision: Decision = { kind, narrowed, reason: reason ?? null, via: 'slack' };
  try {
    await decidePermission({ ...context, verifySignature: null }, state, decision);
    return null;
  } catch (error) {
    if (error instanceof CredentialEnded) return makeRefusal(LINK_ENDED);
    if (!(error instanceof Problem)) throw error;
    if (error.code === 'passkey_required') return makeRefusal(DECIDED_ELSEWHERE);
    return makeRefusal(error.detail);
  }
}
