import type { Json, JsonObject } from '../../lib/json';
import type { PermissionRow, ReviewedPermission } from '../../permissions/permission';
import type { PolicyRow } from '../../policies/policy';
import { CheckBox, FieldGroup } from '../parts/fields';
import { Code, Written } from '../parts/inline';
import { useFault } from '../parts/refusal';
import { RequestTitle } from '../parts/request';
import { EMPTY_POLICY, type ShownPolicy } from './values';

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
          <RequestTitle
            title={row.title}
            otherwise={`${row.action} on ${row.resource}`}
            isOfConnection={row.connectionId !== null}
          />
        </a>
        , with its action, resource and agent{isLimited && ', and its limits or lower ones'}.
      </p>
      {!isLimited && (
        <p class="notice waiting">
          The request has no limits, so the rule has no conditions: it approves{' '}
          <Code text={row.action} /> on “
          <Written text={row.resource} />” <strong>whatever the limits are</strong>, for example any
          amount. Write conditions to restrict it.
        </p>
      )}
      {hasWildcard(row) && (
        <p class="notice waiting">
          The agent asked for the resource “<Written text={row.resource} />
          ”. In a policy <code>*</code> stands for any text, so this would match other resources
          too. Write under Resources what you mean.
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
}

/** Says how the policy decides about the request from which it is made, and others like it. */
export function RequestOptions({
  request,
  prospect,
  approves,
  acceptsAnyLimits,
}: RequestOptionsProps) {
  const { row, isPending, mayApprove } = request;
  const fault = useFault('any_limits');
  return (
    <>
      <input type="hidden" name="permission" value={row.id} />
      {prospect && <ProspectText {...prospect} />}
      {(fault || acceptsAnyLimits || !hasLimits(row)) && (
        <FieldGroup legend="May it approve requests with any limits?" path="any_limits">
          <CheckBox
            label="Yes, whatever the limits are"
            name="any_limits"
            checked={acceptsAnyLimits}
          />
        </FieldGroup>
      )}
      {mayApprove && (
        <CheckBox
          label="Approve this request too, as it was asked for"
          name="approve"
          checked={approves}
        />
      )}
      {isPending && !mayApprove && (
        <p class="hint">The policy is for later requests. You cannot approve this request here.</p>
      )}
    </>
  );
}

const VERBS = { approve: 'approves', deny: 'denies', review: 'asks reviewers about' };

function ProspectText({ policy, isNewPolicy, applies }: Prospect) {
  if (!applies)
    return (
      <p class="notice waiting">This policy does not apply to the request from which it is made.</p>
    );
  if (policy === null || isNewPolicy) return null;
  return (
    <p class="notice waiting">
      It changes nothing for requests like this: “<Written text={policy.name} />
      ”, which {VERBS[policy.effect]} them, is weighed before it.
    </p>
  );
}

const MAX_NAME_LENGTH = 255;

/**
 * A policy that would approve exactly this request, and lower numbers in its limits. If the request
 * has no limits, it would approve requests with any: see {@link ignoresLimits}.
 *
 * The resource stays empty if it has a `*`: in a policy that would stand for any text, and an agent
 * could have asked for it on purpose.
 */
export function policyFromRequest(request: PermissionRow): ShownPolicy {
  const { action, resource, scope, agentId, tokenTtl, maxUses } = request;
  const name = `${action} on ${resource}`;
  return {
    ...EMPTY_POLICY,
    effect: 'approve',
    name: [...name].slice(0, MAX_NAME_LENGTH).join(''),
    actions: [action],
    resources: hasWildcard(request) ? [] : [resource],
    agent_ids: [agentId],
    conditions: Object.fromEntries(
      Object.entries(scope).map(([key, value]) => [key, conditionFor(value as Json)]),
    ),
    token_ttl: tokenTtl,
    max_uses: maxUses,
  };
}

/** Whether a pattern of the request's resource would match more than it. */
export function hasWildcard({ resource }: Pick<PermissionRow, 'resource'>): boolean {
  return resource.includes('*');
}

/** Whether a policy approves requests whatever their limits are. */
export function ignoresLimits({
  effect,
  conditions,
}: Pick<ShownPolicy, 'effect' | 'conditions'>): boolean {
  return effect === 'approve' && Object.keys(conditions).length === 0;
}

/** A number may be lower; everything else has to be the same. */
function conditionFor(value: Json): JsonObject {
  return typeof value === 'number' ? { max: value } : { equals: value };
}
