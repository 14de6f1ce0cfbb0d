import { MAX_RULES, RULE_METHODS } from '../../connections/rules/rule';
import { DurationField } from '../parts/duration-field';
import {
  CheckBox,
  FieldGroup,
  type Options,
  SelectField,
  TextArea,
  TextField,
} from '../parts/fields';
import { useRefusal } from '../parts/refusal';
import type { RuleValues } from './values';

const EFFECTS: Options = [
  ['ask', 'Ask for permission'],
  ['allow', 'Send it without asking'],
  ['deny', 'Refuse it'],
];

/**
 * The rules of a connection, in the order in which they are tried. Buttons add, move and remove
 * one; they send the form and save nothing.
 * @param props.action where the form is sent, so that the reader stays at the rules
 */
export function RuleFields({ rules, action }: { rules: RuleValues[]; action: string }) {
  return (
    <section class="rules" id="rules" aria-labelledby="rules-title">
      <h2 id="rules-title">Rules</h2>
      <p class="hint">
        The first rule that matches a call counts. A call that matches no rule is refused.
      </p>
      {rules.map((rule, at) => (
        <Rule rule={rule} at={at} count={rules.length} action={action} />
      ))}
      {rules.length < MAX_RULES && (
        <p class="actions">
          <RuleButton action={action} value="add" label="Add a rule" />
        </p>
      )}
    </section>
  );
}

interface RuleProps {
  rule: RuleValues;
  at: number;
  count: number;
  action: string;
}

function Rule({ rule, at, count, action }: RuleProps) {
  const number = at + 1;
  const path = `rules.${at}`;
  return (
    <fieldset class="rule" id={`rule-${number}`}>
      <legend>Rule {number}</legend>
      <input type="hidden" name="rule" value={String(at)} />
      <FieldGroup
        legend="It matches calls with these methods"
        path={`${path}.methods`}
        class="methods"
      >
        {RULE_METHODS.map((method) => (
          <CheckBox
            name={`methods-${at}`}
            value={method}
            checked={rule.methods.includes(method)}
            label={method}
          />
        ))}
        <small>None checked: every method</small>
      </FieldGroup>
      <TextArea
        label="and these paths"
        name={`paths-${at}`}
        path={`${path}.paths`}
        value={rule.paths}
        rows={Math.max(2, rule.paths.split('\n').length)}
        spellcheck={false}
        hint="One pattern per line, such as /v1/refunds/*. Empty: every path."
      />
      <SelectField
        label="Then"
        name={`effect-${at}`}
        path={`${path}.effect`}
        value={rule.effect}
        options={EFFECTS}
      />
      <Asking rule={rule} at={at} />
      <p class="actions">
        {at > 0 && <RuleButton action={action} value={`up-${at}`} label="Move up" about={number} />}
        {at < count - 1 && (
          <RuleButton action={action} value={`up-${at + 1}`} label="Move down" about={number} />
        )}
        <RuleButton action={action} value={`remove-${at}`} label="Remove" about={number} />
      </p>
    </fieldset>
  );
}

/** How the calls of a rule are asked for. Opened where something in it is filled in or refused. */
function Asking({ rule, at }: Pick<RuleProps, 'rule' | 'at'>) {
  const path = `rules.${at}`;
  const names = ['action', 'resource', 'scope', 'title', 'series', 'whole_input'];
  const faults = [...(useRefusal()?.faults.keys() ?? [])];
  const isRefused = faults.some((fault) =>
    names.some((name) => fault === `${path}.${name}` || fault.startsWith(`${path}.${name}.`)),
  );
  const isFilled = [rule.action, rule.resource, rule.scope, rule.title, rule.seriesRequests].some(
    (text) => text !== '',
  );
  return (
    <details class="asking-fields" open={isRefused || isFilled || rule.isWhole}>
      <summary>How it asks for permission</summary>
      <div class="asking-body">
        <TextField
          label="Title (optional)"
          name={`title-${at}`}
          path={`${path}.title`}
          value={rule.title}
          maxlength={500}
          placeholder="Refund {amount} of {payment_intent}"
          hint="What people read first. {amount} stands for the field amount of the call."
        />
        <TextArea
          label="Limits (optional)"
          name={`scope-${at}`}
          path={`${path}.scope`}
          value={rule.scope}
          rows={Math.max(2, rule.scope.split('\n').length)}
          spellcheck={false}
          hint="One per line, such as amount = {amount}. Policies and people see them."
        />
        <div class="fields">
          <TextField
            label="Action (optional)"
            name={`action-${at}`}
            path={`${path}.action`}
            value={rule.action}
            maxlength={128}
            placeholder="stripe.refund"
          />
          <TextField
            label="Resource (optional)"
            name={`resource-${at}`}
            path={`${path}.resource`}
            value={rule.resource}
            maxlength={512}
            placeholder="payments:stripe"
          />
        </div>
        <FieldGroup legend="Offer a series of similar calls (optional)" path={`${path}.series`}>
          <div class="fields">
            <TextField
              label="Calls"
              name={`series_requests-${at}`}
              path={`${path}.series.requests`}
              value={rule.seriesRequests}
              placeholder="20"
            />
            <DurationField
              label="Within"
              name={`series_time-${at}`}
              path={`${path}.series.expires_in`}
              value={rule.seriesTime}
            />
            <TextField
              label="Limits that may be lower"
              name={`series_varies-${at}`}
              path={`${path}.series.varies`}
              value={rule.seriesVaries}
              placeholder="amount"
            />
          </div>
        </FieldGroup>
        <CheckBox
          name={`whole-${at}`}
          checked={rule.isWhole}
          label="Refuse calls that are too large to show in full (over 16 KiB)"
        />
      </div>
    </details>
  );
}

interface RuleButtonProps {
  action: string;
  value: string;
  label: string;
  /** The number of the rule. */
  about?: number;
}

function RuleButton({ action, value, label, about }: RuleButtonProps) {
  return (
    <button
      type="submit"
      name="do"
      value={value}
      formaction={`${action}#rules`}
      formnovalidate
      class="quiet small"
      aria-label={about === undefined ? undefined : `${label}: rule ${about}`}
    >
      {label}
    </button>
  );
}
