import type { Refusal } from '../frame/form';
import type { Names } from '../frame/names';
import { CheckBox, Field, TextField } from '../parts/form';
import { Named } from '../parts/text';
import { ConditionFields } from './condition-fields';
import { PeopleFields, union } from './people-fields';
import type { PolicyValues } from './values';

const EFFECTS = [
  ['review', 'Ask people', 'The reviewers decide.'],
  ['approve', 'Approve', 'At once, without a person.'],
  ['deny', 'Deny', 'At once. Wins over every other policy.'],
] as const;

export interface PolicyFieldsProps {
  values: PolicyValues;
  refusal: Refusal | undefined;
  /** Where the form is sent. */
  action: string;
  isNew: boolean;
  /** Whether the form gets one more row for a condition. */
  hasNewRow: boolean;
  names: Names;
  /** The ids of the members who may decide. */
  deciders: string[];
}

/** The fields of a policy. */
export function PolicyFields(props: PolicyFieldsProps) {
  const { values, refusal, isNew } = props;
  return (
    <>
      <section class="card" aria-labelledby="what-title">
        <h2 id="what-title">What it does</h2>
        <TextField label="Name" name="name" value={values.name} maxlength={255} required refusal={refusal} />
        <fieldset>
          <legend>Effect</legend>
          <div class="effects">
            {EFFECTS.map(([effect, label, hint]) => (
              <label class="check">
                <input type="radio" name="effect" value={effect} checked={values.effect === effect} required />
                <span>
                  {label}
                  <small>{hint}</small>
                </span>
              </label>
            ))}
          </div>
          <Fault refusal={refusal} path="effect" />
        </fieldset>
      </section>
      <RequestFields {...props} />
      <ReviewFields {...props} />
      <section class="card" aria-labelledby="more-title">
        <h2 id="more-title">How it is weighed, and what it grants</h2>
        <div class="fields">
          <TextField
            label="Priority"
            name="priority"
            type="number"
            value={values.priority}
            hint="The highest decides, but any denial wins. At equal priority, a review comes before an approval, then the oldest policy."
            refusal={refusal}
          />
          <div class="unless-deny">
            <TextField
              label="Token lifetime in seconds"
              name="token_ttl"
              type="number"
              value={values.token_ttl}
              hint={<CapHint />}
              refusal={refusal}
            />
          </div>
          <div class="unless-deny">
            <TextField
              label="Uses of a token"
              name="max_uses"
              type="number"
              value={values.max_uses}
              hint={<CapHint />}
              refusal={refusal}
            />
          </div>
        </div>
        <div class="unless-review">
          <TextField
            label="Reason"
            name="reason"
            value={values.reason}
            maxlength={1000}
            hint="The agent and the log get it with the decision. Reviewers give their own."
            refusal={refusal}
          />
        </div>
        {isNew && <CheckBox label="Switch it on when it is saved" name="is_active" checked={values.isActive} />}
      </section>
    </>
  );
}

function CapHint() {
  return (
    <>
      At most. Empty: as requested. <span class="if-plain">Not used by denials.</span>
    </>
  );
}

/** Which requests the policy is about. */
function RequestFields({ values, refusal, action, names, hasNewRow }: PolicyFieldsProps) {
  const agents = [...names.keys()].filter((id) => id.startsWith('agent_'));
  return (
    <section class="card" aria-labelledby="which-title">
      <h2 id="which-title">For which requests</h2>
      <p class="hint">It applies to a request if everything here matches.</p>
      <div class="fields">
        <LinesField label="Actions" name="actions" value={values.actions} example="email.*" refusal={refusal} />
        <LinesField label="Resources" name="resources" value={values.resources} example="mailbox:*" refusal={refusal} />
      </div>
      <fieldset class="agents">
        <legend>Agents</legend>
        <div class="effects">
          {[
            ['all', 'Every agent, later ones too'],
            ['some', 'Only those checked here'],
          ].map(([value, label]) => (
            <label class="check">
              <input
                type="radio"
                name="agents"
                value={value}
                checked={(values.agents === 'some') === (value === 'some')}
              />
              <span>{label}</span>
            </label>
          ))}
        </div>
        <div class="choices if-some">
          {union(agents, values.agentIds).map((id) => (
            <CheckBox
              label={<Named id={id} names={names} />}
              name="agent_ids"
              value={id}
              checked={values.agentIds.includes(id)}
            />
          ))}
        </div>
        <Fault refusal={refusal} path="agent_ids" />
      </fieldset>
      <ConditionFields values={values} refusal={refusal} action={action} hasNewRow={hasNewRow} />
    </section>
  );
}

interface LinesFieldProps {
  label: string;
  name: string;
  value: string;
  example: string;
  refusal: Refusal | undefined;
}

/** A field with one pattern a line. What is wrong with a line shows at the field. */
function LinesField({ label, name, value, example, refusal }: LinesFieldProps) {
  const hint = (
    <>
      One per line. <code>*</code> stands for any text, as in <code>{example}</code>.
    </>
  );
  return (
    <Field label={label} name={name} hint={hint} refusal={refusal} path={faultyPath(refusal, name)}>
      {(attributes) => (
        <textarea {...attributes} rows={3} spellcheck={false}>
          {value}
        </textarea>
      )}
    </Field>
  );
}

/** Who reviews, and how. */
function ReviewFields({ values, refusal, deciders, names }: PolicyFieldsProps) {
  const escalationPath = faultyPath(refusal, 'review.escalation');
  const isEscalationOpen = values.escalation_after !== '' || refusal?.faults.has(escalationPath) === true;
  return (
    <section class="card only-review" aria-labelledby="review-title">
      <h2 id="review-title">Who decides</h2>
      <p class="hint if-plain">Used only if the effect is to ask people.</p>
      <TextField
        label="How many have to approve"
        name="approvals"
        type="number"
        min={1}
        max={5}
        value={values.approvals}
        path="review.approvals"
        refusal={refusal}
      />
      <PeopleFields
        legend="Reviewers"
        name="review"
        values={values.reviewers}
        hint="None checked: everybody who may decide."
        deciders={deciders}
        names={names}
      />
      <Fault refusal={refusal} path="review.members" />
      <Fault refusal={refusal} path="review.roles" />
      <CheckBox label="The agent’s owner may approve too" name="allow_self" checked={values.allowSelf} />
      <CheckBox label="Every approval has to be signed with a passkey" name="passkey" checked={values.passkey} />
      <details open={isEscalationOpen}>
        <summary>If nobody decides in time</summary>
        <div class="limits">
          <TextField
            label="After so many seconds"
            name="escalation_after"
            type="number"
            value={values.escalation_after}
            hint="1800 is half an hour. Empty: never."
            path={escalationPath}
            refusal={refusal}
          />
          <PeopleFields
            legend="These become reviewers too"
            name="escalation"
            values={values.escalation}
            hint="Check at least one."
            deciders={deciders}
            names={names}
          />
        </div>
      </details>
    </section>
  );
}

/** What is wrong with a group of fields, or with one of its members. */
function Fault({ refusal, path }: { refusal: Refusal | undefined; path: string }) {
  const fault = refusal?.faults.get(faultyPath(refusal, path));
  return fault ? <p class="fault">{fault}</p> : null;
}

/** The path at or below this one at which something is wrong. */
function faultyPath(refusal: Refusal | undefined, path: string): string {
  const paths = [...(refusal?.faults.keys() ?? [])];
  return paths.find((at) => at === path || at.startsWith(`${path}.`)) ?? path;
}
