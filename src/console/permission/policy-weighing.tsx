import type { Evaluation } from '../../permissions/policies/evaluate';
import type { ActivePolicy } from '../../permissions/policies/policy';
import { Section } from '../parts/blocks';
import { Badge, WrittenLink } from '../parts/inline';

/** Which of the policies apply to a request like this, as they are now: the first one decides. */
export function PolicyWeighing({
  matched,
  policies,
}: Pick<Evaluation<ActivePolicy>, 'matched'> & { policies: ActivePolicy[] }) {
  const applying = matched.flatMap((id) => policies.find((policy) => policy.id === id) ?? []);
  const others = policies.length - applying.length;
  return (
    <Section name="policies" title="Policies that apply now">
      {applying.length === 0 ? (
        <p class="soft">No active policy applies, so a person decides.</p>
      ) : (
        <ol class="lines">
          {applying.map(({ id, name, effect, priority }, index) => (
            <li>
              <span>
                <WrittenLink href={`/console/policies/${id}`} text={name} />
                <small>
                  {index === 0 && 'decides, '}priority {priority}
                </small>
              </span>
              <Badge state={effect} />
            </li>
          ))}
        </ol>
      )}
      {others > 0 && (
        <p class="hint">
          {others} {applying.length > 0 && 'other '}active {others === 1 ? 'policy does' : 'policies do'} not apply.
        </p>
      )}
    </Section>
  );
}
