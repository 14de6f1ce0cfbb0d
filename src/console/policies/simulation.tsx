import type { FieldError } from '../../errors';
import type { Reader, RequestContext, UserContext } from '../../http/context';
import type { CallerSql } from '../../identity/credentials';
import { findJsonLosses } from '../../lib/exact-json';
import { type PolicyRow, selectActivePolicies } from '../../policies/policy';
import { PolicySimulation, type Simulation, simulatePolicies } from '../../policies/simulate';
import { type Refusal, refusalOf, validate } from '../frame/form';
import { agentsOf } from '../frame/names';
import { usePage } from '../frame/page-context';
import { Section } from '../parts/blocks';
import { SelectField, TextArea, TextField } from '../parts/fields';
import { Alert, Submit } from '../parts/form';
import { Count, joinElements, Numeral, WrittenLink } from '../parts/inline';
import { RefusalProvider } from '../parts/refusal';
import { pluralOf } from '../parts/words';
import { parseJson } from './conditions';

/** The answer to the simulation in the address. Null if nobody asked. */
export type Simulated =
  | { answer: Simulation; refusal?: never }
  | { answer?: never; refusal: Refusal }
  | null;

/** Preloads the active policies, if the address asks for a simulation. */
export async function preloadSimulation(
  c: RequestContext,
  _: Reader,
  { account: owner }: CallerSql,
) {
  return { active: isAsked(c) ? selectActivePolicies(owner) : null };
}

function isAsked(c: Pick<RequestContext, 'req'>): boolean {
  return c.req.query('action') !== undefined;
}

/** Simulates the request in the address with the active policies. */
export async function simulate(
  c: Pick<RequestContext, 'req'>,
  context: UserContext,
  policies: PolicyRow[] | undefined,
): Promise<Simulated> {
  if (!isAsked(c) || !policies) return null;
  const { agent_id: agentId, action, resource, scope = '' } = c.req.query();
  const parsed = parseJson(scope);
  const request = {
    action,
    resource,
    ...(agentId && { agent_id: agentId }),
    ...(scope.trim() !== '' && { scope: parsed ?? scope }),
  };
  const faults: FieldError[] = [];
  const [loss] = parsed === undefined ? [] : findJsonLosses(scope);
  if (loss) faults.push({ path: 'body.scope', message: [...loss.path, loss.message].join(' ') });
  try {
    const input = validate(PolicySimulation(), request, faults);
    return { answer: await simulatePolicies(context, { policies, ...input }) };
  } catch (error) {
    return { refusal: refusalOf(error) };
  }
}

/**
 * A form that asks what the policies would decide about a request, and the answer. Its address can
 * be shared.
 */
export function SimulationForm({
  query,
  simulated,
}: {
  query: Record<string, string>;
  simulated: Simulated;
}) {
  const agents = agentsOf(usePage().names);
  const refusal = simulated?.refusal;
  return (
    <Section name="simulation" title="What would be decided?" id="simulation">
      <p class="hint">
        Describe a request. Nothing is requested or saved. You can share the address of the result.
      </p>
      <form method="get" action="/console/policies#simulation">
        <RefusalProvider value={refusal}>
          <div class="fields">
            <SelectField
              label="Agent"
              name="agent_id"
              value={query.agent_id}
              options={[['', 'No agent in particular'], ...agents]}
            />
            <TextField
              label="Action"
              name="action"
              value={query.action}
              placeholder="email.send"
              required
            />
            <TextField
              label="Resource"
              name="resource"
              value={query.resource}
              placeholder="mailbox:support"
              required
            />
          </div>
          <TextArea
            label="Limits (scope), as JSON"
            name="scope"
            value={query.scope ?? ''}
            rows={2}
            spellcheck={false}
            hint='Such as {"amount": 40}. Empty: none.'
          />
        </RefusalProvider>
        <Submit label="Simulate" kind="quiet" />
      </form>
      {refusal && <Alert>Nothing was simulated. Correct the marked fields.</Alert>}
      {simulated?.answer && <Answer answer={simulated.answer} />}
    </Section>
  );
}

const DECISIONS = {
  approve: ['good', 'It would be approved at once.'],
  deny: ['bad', 'It would be denied at once.'],
  review: ['waiting', 'It would wait for reviewers.'],
  pending: ['waiting', 'No policy applies: it would wait for anybody who may decide.'],
} as const;

function Answer({
  answer: { decision, policy_id: decider, matched, exhausted, reviewers, approvals },
}: {
  answer: Simulation;
}) {
  const [tone, text] = DECISIONS[decision];
  const others = matched.filter((id) => id !== decider);
  return (
    <div class={`notice ${tone}`} role="status">
      <p>
        <strong>{text}</strong>
        {decider && [' The policy ', <PolicyLink id={decider} />, ' decides.']}
      </p>
      {approvals !== undefined && reviewers !== undefined && (
        <p>
          <Numeral of={approvals} /> of <Count of={reviewers} one="reviewer" />{' '}
          {pluralOf(approvals, 'has', 'have')} to approve.
          {reviewers < approvals && ' These are too few: it could not be approved.'}
        </p>
      )}
      {others.length > 0 && (
        <p>
          Also applying, but weighed later:{' '}
          {joinElements(others.map((id) => <PolicyLink id={id} />))}
        </p>
      )}
      {exhausted.length > 0 && (
        <p>
          Expired, or without room in the budget:{' '}
          {joinElements(exhausted.map((id) => <PolicyLink id={id} />))}
        </p>
      )}
    </div>
  );
}

function PolicyLink({ id }: { id: string }) {
  return <WrittenLink href={`/console/policies/${id}`} text={usePage().names.get(id) ?? id} />;
}
