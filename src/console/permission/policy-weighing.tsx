import type { Permission } from '../../permissions/permission';
import { isExpired } from '../../policies/budget';
import { evaluatePolicies } from '../../policies/evaluate';
import type { PolicyRow } from '../../policies/policy';
import { usePage } from '../frame/page-context';
import { Section } from '../parts/blocks';
import { Badge, Named, Numeral, WrittenLink } from '../parts/inline';

import { pluralOf } from '../parts/words';

interface PolicyWeighingProps {
  permission: Permission;
  /** The uses that the agent asked for. */
  maxUses: number;
  /** The active policies, as they are now. */
  policies: PolicyRow[];
}

/**
 * Which policy decided a request or sent it to reviewers, and which ones now apply to a new request
 * like it.
 */
export function PolicyWeighing({ permission, maxUses, policies }: PolicyWeighingProps) {
  const { agent_id: agentId, action, resource, scope, status, review } = permission;
  const { now } = usePage();
  const request = { agentId, action, resource, scope, maxUses };
  const { matched, exhausted } = evaluatePolicies(policies, request, now);
  const find = (id: string) => policies.find((policy) => policy.id === id) ?? [];
  const applying = matched.flatMap(find);
  const others = policies.length - applying.length - exhausted.length;
  const [first] = applying;
  const isPending = status === 'pending';
  return (
    <Section name="policies" title="Policies that apply now">
      <PastPolicy permission={permission} />
      {first === undefined && (
        <p class="soft">
          {isPending && !review
            ? 'No active policy applies, so a person decides.'
            : 'No active policy applies to a new request like this.'}
        </p>
      )}
      {first && (
        <ol class="lines">
          {applying.map((policy) => (
            <li>
              <span>
                <PolicyLink policy={policy} />
                <small>
                  {policy === first && `${EFFECTS[policy.effect]}, `}priority{' '}
                  <Numeral of={policy.priority} />
                </small>
              </span>
              <Badge state={policy.effect} />
            </li>
          ))}
        </ol>
      )}
      {first && isPending && first.id !== review?.policy_id && (
        <p class="soft">
          The policies have changed since this request was made, so it still waits for people.
        </p>
      )}
      {exhausted.flatMap(find).map((policy) => (
        <p>
          <PolicyLink policy={policy} /> would apply, but{' '}
          {isExpired(policy, now) ? 'has expired' : 'has no room left in its budget'}.
        </p>
      ))}
      {others > 0 && (
        <p class="hint">
          <Numeral of={others} /> {applying.length > 0 && 'other '}active{' '}
          {pluralOf(others, 'policy does', 'policies do')} not apply.
        </p>
      )}
    </Section>
  );
}

function PolicyLink({ policy: { id, name } }: { policy: PolicyRow }) {
  return <WrittenLink href={`/console/policies/${id}`} text={name} />;
}

/** The effect of the first of the policies that apply, in words. */
const EFFECTS: Record<PolicyRow['effect'], string> = {
  approve: 'would decide a new request like this',
  deny: 'would decide a new request like this',
  review: 'would send a new request like this to its reviewers',
};

/** The policy that decided the request or sent it to its reviewers; nothing if there is none. */
function PastPolicy({ permission: { policy_id, review } }: { permission: Permission }) {
  const id = policy_id ?? review?.policy_id;
  if (!id) return null;
  return (
    <p class="soft">
      The policy “<Named id={id} />”{' '}
      {policy_id ? 'decided this request.' : 'sent this request to its reviewers.'}
    </p>
  );
}
