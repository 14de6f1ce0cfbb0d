import { MAX_APPROVALS } from '../../permissions/reviews/rule';
import { agentsOf } from '../frame/names';
import { usePage } from '../frame/page-context';
import { Section } from '../parts/blocks';
import { DurationField } from '../parts/duration-field';
import {
  CheckBox,
  FieldFault,
  FieldGroup,
  RadioButton,
  TextArea,
  TextField,
} from '../parts/fields';
import { Named } from '../parts/inline';
import { useFault } from '../parts/refusal';
import { BudgetFields } from './budget';
import { ConditionFields } from './condition-fields';
import { type Decider, PeopleFields, union } from './people-fields';
import type { PolicyValues } from './values';

const EFFECTS = [
  ['review', 'Ask people', 'The reviewers decide.'],
  ['approve', 'Approve', 'At once, without a person.'],
  ['deny', 'Deny', 'At once. Wins over every other policy.'],
] as const;

const AGENT_CHOICES = [
  ['all', 'Every agent, later ones too'],
  ['some', 'Only those checked here'],
] as const;

interface PolicyFieldsProps {
  values: PolicyValues;
  /** Where the form is sent. */
  action: string;
  isNew: boolean;
  /** Whether the form gets one more row for a condition. */
  hasNewRow: boolean;
  /** Null if the reader may not know who may decide. */
  deciders: Decider[] | null;
}

/** The fields of a policy. */
export function PolicyFields(props: PolicyFieldsProps) {
  const { values, isNew } = props;
  return (
    <>
      <Section name="what" title="What it does">
        <TextField label="Name" name="name" value={values.name} maxlength={255} required />
        <FieldGroup legend="Effect" path="effect">
          <div class="effects">
            {EFFECTS.map(([effect, label, hint]) => (
              <RadioButton
                label={[label, <small>{hint}</small>]}
                name="effect"
                value={effect}
                checked={values.effect === effect}
              />
            ))}
          </div>
        </FieldGroup>
        {isNew && (
          <CheckBox
            label="Switch it on when it is saved"
            name="is_active"
            checked={values.isActive}
          />
        )}
      </Section>
      <RequestFields {...props} />
      <ReviewFields {...props} />
      <BudgetFields values={values} />
      <MoreFields values={values} />
    </>
  );
}

/** The fields that few policies need. */
function MoreFields({ values }: { values: PolicyValues }) {
  const { priority, token_ttl: lifetime, max_uses: uses, reason } = values;
  const isUsed = priority !== '0' || lifetime.amount + uses + reason !== '';
  const faults = ['priority', 'token_ttl', 'max_uses', 'reason'].map(useFault);
  return (
    <details class="card" open={isUsed || faults.some(Boolean)}>
      <summary>More: priority, limits of the token, reason</summary>
      <div class="folded">
        <div class="fields">
          <TextField
            label="Priority"
            name="priority"
            type="number"
            value={priority}
            hint="The highest decides, but any denial wins. At equal priority, a review comes before an approval, then the oldest policy."
          />
          <div class="unless-deny">
            <DurationField
              label="Token lifetime"
              name="token_ttl"
              value={lifetime}
              hint={CAP_HINT}
            />
          </div>
          <div class="unless-deny">
            <TextField
              label="Uses of a token"
              name="max_uses"
              type="number"
              value={uses}
              hint={CAP_HINT}
            />
          </div>
        </div>
        <div class="unless-review">
          <TextField
            label="Reason"
            name="reason"
            value={reason}
            maxlength={1000}
            hint="The agent and the log get it with the decision of the policy. Reviewers give their own reasons."
          />
        </div>
      </div>
    </details>
  );
}

/** The hint of the fields that cap what an approval grants. */
const CAP_HINT = [
  'At most. Empty: as requested. ',
  <span class="if-plain">Not used by denials.</span>,
];

/** Which requests the policy is about. */
function RequestFields({ values, action, hasNewRow }: PolicyFieldsProps) {
  const agents = agentsOf(usePage().names).map(([id]) => id);
  return (
    <Section name="which" title="For which requests">
      <p class="hint">It applies to a request if everything here matches.</p>
      <div class="fields">
        <PatternsField label="Actions" name="actions" value={values.actions} example="email.*" />
        <PatternsField
          label="Resources"
          name="resources"
          value={values.resources}
          example="mailbox:*"
        />
      </div>
      <FieldGroup legend="Agents" path="agent_ids" class="agents">
        <div class="effects">
          {AGENT_CHOICES.map(([value, label]) => (
            <RadioButton
              label={label}
              name="agents"
              value={value}
              checked={(values.agents === 'some') === (value === 'some')}
            />
          ))}
        </div>
        <div class="choices if-some">
          {union(agents, values.agentIds).map((id) => (
            <CheckBox
              label={<Named id={id} isShort />}
              name="agent_ids"
              value={id}
              checked={values.agentIds.includes(id)}
            />
          ))}
        </div>
      </FieldGroup>
      <ConditionFields values={values} action={action} hasNewRow={hasNewRow} />
    </Section>
  );
}

/** A field with one pattern a line. What is wrong with a line shows at the field. */
function PatternsField({
  label,
  name,
  value,
  example,
}: Record<'label' | 'name' | 'value' | 'example', string>) {
  const hint = [
    'One per line. ',
    <code>*</code>,
    ' stands for any text, as in ',
    <code>{example}</code>,
    '.',
  ];
  return (
    <TextArea label={label} name={name} value={value} hint={hint} rows={3} spellcheck={false} />
  );
}

/** Who reviews, and how. */
function ReviewFields({ values, deciders }: PolicyFieldsProps) {
  const escalationFault = useFault('review.escalation');
  const isEscalationOpen = values.escalation_after.amount !== '' || escalationFault !== undefined;
  return (
    <Section name="review" title="Who decides" class="card only-review">
      <p class="hint if-plain">Used only if the effect is to ask people.</p>
      <TextField
        label="How many have to approve"
        name="approvals"
        type="number"
        min={1}
        max={MAX_APPROVALS}
        value={values.approvals}
        path="review.approvals"
      />
      <PeopleFields
        legend="Reviewers"
        name="review"
        values={values.reviewers}
        hint="None checked: everybody who may decide."
        deciders={deciders}
      />
      <FieldFault text={useFault('review.members')} />
      <FieldFault text={useFault('review.roles')} />
      <CheckBox
        label="The agent’s owner may approve too"
        name="allow_self"
        checked={values.allowSelf}
      />
      <CheckBox
        label="Every approval has to be signed with a passkey"
        name="passkey"
        checked={values.passkey}
      />
      <details open={isEscalationOpen}>
        <summary>If nobody decides in time</summary>
        <div class="limits">
          <DurationField
            label="After"
            name="escalation_after"
            value={values.escalation_after}
            hint="Empty: never."
            path="review.escalation"
          />
          <PeopleFields
            legend="These become reviewers too"
            name="escalation"
            values={values.escalation}
            hint="Check at least one."
            deciders={deciders}
          />
        </div>
      </details>
    </Section>
  );
}
