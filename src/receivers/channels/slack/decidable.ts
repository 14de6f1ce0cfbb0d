import { proposedLimits } from '../../../permissions/limits';
import {
  type Permission,
  presentPermission,
  type ReviewedPermission,
  statusAt,
} from '../../../permissions/permission';
import { canDecideInSlack, DECIDED_ELSEWHERE } from './message';
import type { DecisionModal } from './modal';

// A click asks whether a permission can be decided in Slack, and the submission of the modal that
// it opened asks again.

export const MAY_NOT_DECIDE = 'Your role in Countersign may not decide requests.';
export const NO_REQUEST = 'The request no longer exists.';

/** Why a permission cannot be decided in Slack; null if it can. */
export function findObstacle(row: ReviewedPermission, now: number): string | null {
  const status = statusAt(row, now);
  if (status !== 'pending') return `The request is ${status} already.`;
  if (!canDecideInSlack(presentForPeople(row, now))) return DECIDED_ELSEWHERE;
  return null;
}

/** A permission as people see it. */
export function presentForPeople(row: ReviewedPermission, now: number): Permission {
  return presentPermission(row, now, { kind: 'user' });
}

/**
 * The limits that an approval may narrow: those that the votes so far have left, or else the
 * requested ones.
 */
export function proposalOf(row: ReviewedPermission): DecisionModal['proposal'] {
  const { scope, tokenTtl, maxUses } = proposedLimits(row);
  return { scope, token_ttl: tokenTtl, max_uses: maxUses };
}
