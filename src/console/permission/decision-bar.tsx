import { amountText } from '../../permissions/amount';
import type { ReviewedPermission } from '../../permissions/permission';
import { CsrfField } from '../frame/page';
import { Written } from '../parts/inline';
import { cardAddress } from './queue';

interface DecisionBarProps {
  row: ReviewedPermission;
  mayApprove: boolean;
  needsPasskey: boolean;
  hasPasskey: boolean;
  agentId: string | undefined;
}

/**
 * The buttons of the decision at the lower edge of a phone. After them the next request is shown,
 * not the result. `Skip` sets the request aside.
 */
export function DecisionBar({
  row,
  mayApprove,
  needsPasskey,
  hasPasskey,
  agentId,
}: DecisionBarProps) {
  const path = (step: string) =>
    cardAddress(`${row.id}/${step}`, agentId) + (agentId === undefined ? '?queue' : '&queue');
  return (
    <section class="decision-bar" aria-label="Decide and go on">
      <strong>
        <Written text={amountText((row.review?.proposal ?? row).scope) ?? row.action} />
      </strong>
      <button
        type="submit"
        form="decide"
        formaction={path('decide')}
        name="decision"
        value="deny"
        class="danger"
      >
        Deny
      </button>
      {mayApprove && (
        <button
          type="submit"
          form="decide"
          formaction={path('decide')}
          name="decision"
          value="approve"
          data-sign={needsPasskey ? '' : undefined}
          class="approve"
          disabled={needsPasskey && !hasPasskey}
        >
          Approve
        </button>
      )}
      <form method="post" action={path('skip')}>
        <CsrfField />
        <button type="submit" class="quiet">
          Skip
        </button>
      </form>
    </section>
  );
}
