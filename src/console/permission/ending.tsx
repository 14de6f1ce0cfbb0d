import type { WaitingRequest } from '../../permissions/list-waiting';
import { isWithdrawn, type Permission } from '../../permissions/permission';
import type { SeriesUsage } from '../../permissions/series/usage';
import type { Refusal } from '../frame/form';
import { Section } from '../parts/blocks';
import { Action, Alert } from '../parts/form';
import { Time, Written } from '../parts/inline';
import { Deciders, RequestName } from '../parts/request';
import { GivenSeries } from '../series/live-series';

interface EndingProps {
  permission: Permission;
  /** How far the series that the approval gave is used. */
  seriesUsage: SeriesUsage | undefined;
  /** Why the decision in this request was refused. */
  refusal: Refusal | undefined;
  /** The request that waits most urgently for the reader. */
  next: WaitingRequest | undefined;
}

const WORDS: Record<Permission['status'], string> = {
  pending: 'Waiting',
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Expired',
};

/** Shows how a request ended: what was decided, by whom and when, and the state of the token. */
export function Ending({ permission, seriesUsage, refusal, next }: EndingProps) {
  const { status, decided_at, decision_reason, token, expires_at, updated_at, granted_series } =
    permission;
  return (
    <Section
      name="ending"
      title={isWithdrawn(permission) ? 'Withdrawn' : WORDS[status]}
      class="card decide"
    >
      {refusal && <Alert>{refusal.detail} Your decision was not taken.</Alert>}
      {status === 'expired' && (
        <p>
          {isWithdrawn(permission) && (
            <>
              The request was withdrawn on <Time at={updated_at} />.
            </>
          )}
          {!isWithdrawn(permission) && (
            <>
              Nobody decided by <Time at={expires_at} />.
            </>
          )}{' '}
          The agent may not do it.
        </p>
      )}
      {decided_at && (
        <p>
          By{' '}
          <strong>
            <Deciders permission={permission} />
          </strong>
          , <Time at={decided_at} />
        </p>
      )}
      {decision_reason && (
        <p class="written">
          “<Written text={decision_reason} />”
        </p>
      )}
      {granted_series && seriesUsage && (
        <GivenSeries id={permission.id} granted={granted_series} usage={seriesUsage} />
      )}
      {token && (
        <p class="soft">
          Token {token.status}: used {token.uses} of {token.max_uses} times, valid until{' '}
          <Time at={token.expires_at} />
        </p>
      )}
      {token?.status === 'active' && (
        <Action
          action={`/console/permissions/${permission.id}/revoke`}
          label="Revoke the token"
          kind="danger"
        />
      )}
      {next && (
        <p class="actions">
          <a class="button" href={`/console/permissions/${next.permission.id}`} data-next autofocus>
            <span>
              Next: <RequestName request={next.permission} />
            </span>
          </a>
        </p>
      )}
    </Section>
  );
}
