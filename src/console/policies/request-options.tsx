import type { ReviewedPermission } from '../../permissions/permission';
import type { PolicyRow } from '../../permissions/policies/policy';
import type { Refusal } from '../frame/form';
import { CheckBox } from '../parts/form';
import { RequestTitle } from '../parts/request-title';
import { Code, Written } from '../parts/text';
import { hasWildcard } from './from-request';

/** The request from which a policy is made. */
export interface SourceRequest {
  row: ReviewedPermission;
  isPending: boolean;
  /** Whether the member may approve it without a passkey. */
  mayApprove: boolean;
}

/** Says from which request the form was filled in. */
export function RequestNotice({ request: { row } }: { request: SourceRequest }) {
  const isLimited = hasLimits(row);
  return (
    <>
      <p>
        Filled in from the request{' '}
        <a href={`/console/permissions/${row.id}`}>
          <RequestTitle title={row.title} otherwise={`${row.action} on ${row.resource}`} />
        </a>
        , with its action, resource and agent{isLimited && ', and its limits or lower ones'}.
      </p>
      {!isLimited && (
        <p class="notice waiting">
          The request has no limits, so the rule has no conditions: it approves <Code text={row.action} /> on “
          <Written text={row.resource} />” <strong>whatever the limits are</strong>, for example any amount. Write
          conditions to restrict it.
        </p>
      )}
      {hasWildcard(row) && (
        <p class="notice waiting">
          The agent asked for the resource “<Written text={row.resource} />
          ”. In a policy <code>*</code> stands for any text, so this would match other resources too. Write under
          Resources what you mean.
        </p>
      )}
    </>
  );
}

function hasLimits({ scope }: ReviewedPermission): boolean {
  return Object.keys(scope).length > 0;
}

/** Which policy would decide the same request, made once more, when the new policy is there. */
export interface Prospect {
  /** Null if a person would decide. */
  policy: PolicyRow | null;
  isNewPolicy: boolean;
  /** Whether the new policy applies to the request at all. */
  applies: boolean;
}

interface RequestOptionsProps {
  request: SourceRequest;
  prospect: Prospect | null;
  /** Whether the box is checked. */
  approves: boolean;
  /** Whether the box is checked that accepts an approval without conditions. */
  acceptsAnyLimits: boolean;
  refusal: Refusal | undefined;
}

/** What becomes of the request from which the policy is made, and of others like it. */
export function RequestOptions({ request, prospect, approves, acceptsAnyLimits, refusal }: RequestOptionsProps) {
  const { row, isPending, mayApprove } = request;
  const fault = refusal?.faults.get('any_limits');
  return (
    <>
      <input type="hidden" name="permission" value={row.id} />
      {prospect && <ProspectText {...prospect} />}
      {(fault || acceptsAnyLimits || !hasLimits(row)) && (
        <fieldset aria-describedby={fault && 'any-limits-fault'}>
          <legend>May it approve requests with any limits?</legend>
          <CheckBox label="Yes, whatever the limits are" name="any_limits" checked={acceptsAnyLimits} />
          {fault && (
            <p class="fault" id="any-limits-fault">
              {fault}
            </p>
          )}
        </fieldset>
      )}
      {mayApprove && (
        <CheckBox label="Approve this request too, as it was asked for" name="approve" checked={approves} />
      )}
      {isPending && !mayApprove && (
        <p class="hint">The policy is for later requests. This one you cannot approve here.</p>
      )}
    </>
  );
}

const VERBS = { approve: 'approves', deny: 'denies', review: 'asks reviewers about' };

function ProspectText({ policy, isNewPolicy, applies }: Prospect) {
  if (!applies) return <p class="notice waiting">This policy does not apply to the request from which it is made.</p>;
  if (policy === null || isNewPolicy) return null;
  return (
    <p class="notice waiting">
      It changes nothing for requests like this: “<Written text={policy.name} />
      ”, which {VERBS[policy.effect]} them, is weighed before it.
    </p>
  );
}
