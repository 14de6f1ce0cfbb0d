import type { ReviewedPermission } from '../../permissions/permission';
import { ZoneField } from '../audit/presets';
import { CsrfField } from '../frame/page';
import { Written } from '../parts/inline';
import { cardAddress } from './next-request';

interface DecisionBarProps {
  row: ReviewedPermission;
  /** How much is asked for, or what. */
  name: string;
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
  name,
  mayApprove,
  needsPasskey,
  hasPasskey,
  agentId,
}: DecisionBarProps) {
  const decide = cardAddress(`${row.id}/decide`, agentId);
  const decideInQueue = decide + (agentId === undefined ? '?queue' : '&queue');
  return (
    <section class="decision-bar" aria-label="Decide and go on">
      <strong>
        <Written text={name} />
      </strong>
      <button
        type="submit"
        form="decide"
        formaction={decideInQueue}
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
          formaction={decideInQueue}
          name="decision"
          value="approve"
          data-sign={needsPasskey ? '' : undefined}
          class="approve"
          disabled={needsPasskey && !hasPasskey}
        >
          Approve
        </button>
      )}
      <form method="post" action={cardAddress(`${row.id}/skip`, agentId)}>
        <CsrfField />
        <ZoneField timeZone={undefined} />
        <button type="submit" class="quiet">
          Skip
        </button>
      </form>
    </section>
  );
}
