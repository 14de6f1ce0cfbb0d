import { byPrecedence } from '../../policies/evaluate';
import { listPolicies } from '../../policies/list';
import { listShortPolicies, type ShortPolicy } from '../../policies/list-short';
import { MAX_POLICIES, type Policy } from '../../policies/policy';
import { loadNames, type Names } from '../frame/names';
import { sendPage } from '../frame/page';
import { Empty, LinkButton } from '../parts/blocks';
import { Badge, Numeral, WrittenLink } from '../parts/inline';
import type { PreloadedContext } from '../session/access';
import { BudgetUsage, PolicyState } from './budget';
import { PolicySentence } from './sentence';
import { ShortBadge } from './short';
import { type preloadSimulation, SimulationForm, simulate } from './simulation';

/**
 * Shows the policies in the order in which they are weighed, and what they would decide about a
 * request.
 */
export async function showPolicies(
  c: PreloadedContext<typeof preloadSimulation>,
): Promise<Response> {
  const { context } = c.var.signedIn;
  const [{ data }, short, found, simulated] = await Promise.all([
    listPolicies(context, { limit: MAX_POLICIES }),
    listShortPolicies(context),
    loadNames(context, ['people', 'agents']),
    simulate(c, context, c.var.loaded.active),
  ]);
  const names: Names = new Map([
    ...found,
    ...data.map(({ id, name }): [string, string] => [id, name]),
  ]);
  const policies = data.toSorted((a, b) => byPrecedence(withTime(a), withTime(b)));
  const denials = policies.filter(({ effect }) => effect === 'deny');
  const others = policies.filter(({ effect }) => effect !== 'deny');
  const mayWrite = context.principal.scopes.includes('policies:write');
  const children = (
    <>
      <div class="bar">
        <p class="soft">
          Policies decide requests at once, or send them to reviewers. They are weighed in this
          order.
        </p>
        {mayWrite && <LinkButton href="/console/policies/new" label="New policy" />}
      </div>
      {policies.length === 0 && (
        <Empty title="There is no policy yet.">
          <p>Every request waits for a person: one approval by anybody who may decide is enough.</p>
          {mayWrite && (
            <p>
              Make a policy for requests that need no person. Or open a request, and make a policy
              from it when you approve it.
            </p>
          )}
        </Empty>
      )}
      {policies.length > 0 && (
        <>
          <Step
            number={1}
            title="Any denial that applies denies the request"
            policies={denials}
            short={[]}
          />
          <Step
            number={2}
            title="Otherwise the first of these that applies decides"
            hint="The highest priority comes first. At equal priority, a review comes before an approval, then the oldest policy."
            policies={others}
            short={short}
          />
          <section class="part">
            <h2>3. If none applies, anybody who may decide approves or denies</h2>
          </section>
        </>
      )}
      <SimulationForm query={c.req.query()} simulated={simulated} />
    </>
  );
  return sendPage(c, { title: 'Policies', names, status: simulated?.refusal?.status, children });
}

function withTime(policy: Policy) {
  return { ...policy, createdAt: Date.parse(policy.created_at) };
}

/** One step of the evaluation, with its policies. */
function Step({
  number,
  title,
  hint,
  policies,
  short,
}: {
  number: number;
  title: string;
  hint?: string;
  policies: Policy[];
  /** Those that have too few reviewers. */
  short: ShortPolicy[];
}) {
  return (
    <section class="part">
      <h2>
        {number}. {title}
      </h2>
      {hint && <p class="hint">{hint}</p>}
      {policies.length === 0 && <p class="soft">There are none.</p>}
      {policies.length > 0 && (
        <ol class="requests">
          {policies.map((policy) => (
            <PolicyLine policy={policy} short={short.find(({ id }) => id === policy.id)} />
          ))}
        </ol>
      )}
    </section>
  );
}

function PolicyLine({ policy, short }: { policy: Policy; short: ShortPolicy | undefined }) {
  const { id, name, effect, priority } = policy;
  return (
    <li class="request policy-line" id={id} data-row>
      <div class="what">
        <WrittenLink href={`/console/policies/${id}`} text={name} />
        <PolicySentence policy={policy} />
        <BudgetUsage policy={policy} />
      </div>
      <div class="side">
        <Badge state={effect} /> <PolicyState policy={policy} /> {short && <ShortBadge />}
        <p class="soft">
          priority <Numeral of={priority} />
        </p>
      </div>
    </li>
  );
}
