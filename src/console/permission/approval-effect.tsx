import { duration } from '../../lib/duration';
import { SECOND } from '../../lib/time';
import type { ReviewedPermission } from '../../permissions/permission';
import { hasNarrowedScope } from './limits-form';

/** What an approval does, in words: what the agent may do then, or that more people have to approve. */
export function ApprovalEffect({ row }: { row: ReviewedPermission }) {
  const { review } = row;
  const { tokenTtl, maxUses } = review?.proposal ?? row;
  const approvals = review?.votes.filter(({ decision }) => decision === 'approve').length ?? 0;
  const further = (review?.rule.approvals ?? 1) - approvals - 1;
  const isNarrowed = tokenTtl !== row.tokenTtl || maxUses !== row.maxUses || hasNarrowedScope(row);
  return (
    <div class="part">
      <p>
        {further > 0
          ? `If you approve, it waits for ${further === 1 ? 'one more approval' : `${further} more approvals`}. After that the agent may do it `
          : 'If you approve, the agent may do it '}
        <strong>{maxUses === 1 ? 'once' : `${maxUses} times`}</strong>, within {duration(tokenTtl * SECOND)}.
        {further <= 0 && ' No other approval is needed.'} You can revoke an approval that is not used up; what the agent
        has done by then stays done.
      </p>
      {isNarrowed && (
        <p class="notice waiting">
          An earlier vote lowered the limits: only what is <strong>proposed</strong> can be granted.
        </p>
      )}
    </div>
  );
}
