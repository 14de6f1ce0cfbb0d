import type { SQL } from 'drizzle-orm';
import type { Reader } from '../../db/database';
import type { RequestContext } from '../../http/context';
import type { ActivePolicy } from '../../permissions/policies/policy';
import {
  PolicySimulation,
  type Simulation,
  selectPoliciesForAgent,
  simulatePolicies,
} from '../../permissions/policies/simulate';
import { type Refusal, refusalOf, validate } from '../frame/form';
import type { Names } from '../frame/names';
import { Field, SelectField, TextField } from '../parts/form';
import { Written } from '../parts/text';
import { parseJson } from './conditions';

/** What the address says about a request to simulate. Null if nobody asked. */
export type Simulated = { answer: Simulation; refusal?: never } | { answer?: never; refusal: Refusal } | null;

/** The preload of a simulation: the active policies, with the number of reviewers for the agent in the address. */
export async function simulationInQuery(c: RequestContext, reader: Reader, owner: SQL<number>) {
  return { active: isAsked(c) ? selectPoliciesForAgent(reader, owner, c.req.query('agent_id')) : null };
}

function isAsked(c: Pick<RequestContext, 'req'>): boolean {
  return c.req.query('action') !== undefined;
}

/** Simulates the request in the address with the active policies. */
export function simulate(c: Pick<RequestContext, 'req'>, policies: ActivePolicy[] | undefined): Simulated {
  if (!isAsked(c) || !policies) return null;
  const { agent_id: agentId, action, resource, scope = '' } = c.req.query();
  const request = {
    ...(agentId && { agent_id: agentId }),
    ...{ action, resource },
    ...(scope.trim() !== '' && { scope: parseJson(scope) ?? scope }),
  };
  try {
    return { answer: simulatePolicies({ policies, ...validate(PolicySimulation(), request) }) };
  } catch (error) {
    return { refusal: refusalOf(error) };
  }
}

interface SimulationFormProps {
  query: Record<string, string>;
  simulated: Simulated;
  names: Names;
}

/** A form that asks what the policies would decide about a request, and the answer. Its address can be shared. */
export function SimulationForm({ query, simulated, names }: SimulationFormProps) {
  const agents = [...names].filter(([id]) => id.startsWith('agent_'));
  const refusal = simulated?.refusal;
  return (
    <section class="card" id="simulation" aria-labelledby="simulation-title">
      <h2 id="simulation-title">What would be decided?</h2>
      <p class="hint">Describe a request. Nothing is asked or saved; the address of the answer can be shared.</p>
      <form method="get" action="/console/policies#simulation">
        <div class="fields">
          <SelectField
            label="Agent"
            name="agent_id"
            value={query.agent_id}
            options={[['', 'No agent in particular'], ...agents]}
            refusal={refusal}
          />
          <TextField
            label="Action"
            name="action"
            value={query.action}
            placeholder="email.send"
            required
            refusal={refusal}
          />
          <TextField
            label="Resource"
            name="resource"
            value={query.resource}
            placeholder="mailbox:support"
            required
            refusal={refusal}
          />
        </div>
        <Field
          label="Limits (scope), as JSON"
          name="scope"
          hint='Such as {"amount": 40}. Empty: none.'
          refusal={refusal}
        >
          {(attributes) => (
            <textarea {...attributes} rows={2} spellcheck={false}>
              {query.scope ?? ''}
            </textarea>
          )}
        </Field>
        <p>
          <button type="submit" class="quiet">
            Simulate
          </button>
        </p>
      </form>
      {refusal && (
        <p class="notice bad" role="alert">
          Nothing was simulated. Correct what is marked.
        </p>
      )}
      {simulated?.answer && <Answer answer={simulated.answer} names={names} />}
    </section>
  );
}

const OUTCOMES = {
  approve: ['good', 'It would be approved at once.'],
  deny: ['bad', 'It would be denied at once.'],
  review: ['waiting', 'It would wait for reviewers.'],
  pending: ['waiting', 'No policy applies: it would wait for anybody who may decide.'],
} as const;

function Answer({
  answer: { decision, policy_id: decider, matched, reviewers, approvals },
  names,
}: {
  answer: Simulation;
  names: Names;
}) {
  const [tone, text] = OUTCOMES[decision];
  const others = matched.filter((id) => id !== decider);
  return (
    <div class={`notice ${tone}`} role="status">
      <p>
        <strong>{text}</strong>
        {decider && (
          <>
            {' '}
            The policy <PolicyLink id={decider} names={names} /> decides.
          </>
        )}
      </p>
      {approvals !== undefined && reviewers !== undefined && (
        <p>
          {approvals} of {reviewers} {reviewers === 1 ? 'reviewer' : 'reviewers'} {approvals === 1 ? 'has' : 'have'} to
          approve.
          {reviewers < approvals && ' These are too few: nobody could approve it.'}
        </p>
      )}
      {others.length > 0 && (
        <p>
          Also applying, but weighed later:{' '}
          {others.map((id, index) => (
            <>
              {index > 0 && ', '}
              <PolicyLink id={id} names={names} />
            </>
          ))}
        </p>
      )}
    </div>
  );
}

function PolicyLink({ id, names }: { id: string; names: Names }) {
  return (
    <a href={`/console/policies/${id}`}>
      <Written text={names.get(id) ?? id} />
    </a>
  );
}
