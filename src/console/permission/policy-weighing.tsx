import type { Evaluation } from '../../permissions/policies/evaluate';
import type { ActivePolicy } from '../../permissions/policies/policy';
import { Badge } from '../parts/badge';
import { Written } from '../parts/text';

interface PolicyWeighingProps extends Evaluation<ActivePolicy> {
  /** The active policies. */
  policies: ActivePolicy[];
}

/** Which of the policies apply to a request like this, as they are now: the first one decides. */
export function PolicyWeighing({ matched, policies }: PolicyWeighingProps) {
  const applying = matched.flatMap((id) => policies.find((policy) => policy.id === id) ?? []);
  const others = policies.length - applying.length;
  return (
    <section class="card" aria-labelledby="policies-title">
      <h2 id="policies-title">Policies that apply now</h2>
      {applying.length === 0 ? (
        <p class="soft">No active policy applies, so a person decides.</p>
      ) : (
        <ol class="lines">
          {applying.map(({ id, name, effect, priority }, index) => (
            <li>
              <span>
                <a href={`/console/policies/${id}`}>
                  <Written text={name} />
                </a>
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
    </section>
  );
}
