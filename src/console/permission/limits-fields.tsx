import { duration } from '../../lib/duration';
import { SECOND } from '../../lib/time';
import type { ReviewedPermission } from '../../permissions/permission';
import type { Form, Refusal } from '../frame/form';
import { TextField } from '../parts/form';
import { valueText } from '../parts/limits';
import { Written } from '../parts/text';
import { type LimitField, limitFields } from './limits-form';

interface LimitsFieldsProps {
  row: ReviewedPermission;
  refusal: Refusal | undefined;
  typed: Form | undefined;
}

/** The limits, made from the scope's own values: a number may be lowered, a list may lose members. */
export function LimitsFields({ row, refusal, typed }: LimitsFieldsProps) {
  const { scope, tokenTtl, maxUses } = row.review?.proposal ?? row;
  return (
    <details data-key="edit" id="limits" open={refusal !== undefined}>
      <summary>Narrow the limits</summary>
      <div class="limits">
        {row.inputDigest !== null && (
          <p class="hint">The arguments stay as they are: if they exceed what you leave, the agent has to ask again.</p>
        )}
        {limitFields(scope).map((field) => (
          <LimitInput field={field} typed={typed} isRefused={refusal?.faults.has(`scope.${field.path.join('.')}`)} />
        ))}
        <TextField
          label="Time to act, in seconds"
          name="token_ttl"
          type="number"
          min={30}
          max={tokenTtl}
          value={typedText(typed, 'token_ttl', tokenTtl)}
          hint={`At most ${tokenTtl} (${duration(tokenTtl * SECOND)})`}
          refusal={refusal}
        />
        <TextField
          label="Times it may act"
          name="max_uses"
          type="number"
          min={1}
          max={maxUses}
          value={typedText(typed, 'max_uses', maxUses)}
          hint={`At most ${maxUses}`}
          refusal={refusal}
        />
      </div>
    </details>
  );
}

function typedText(typed: Form | undefined, name: string, value: number): string {
  return typed?.has(name) ? typed.text(name) : String(value);
}

interface LimitInputProps {
  field: LimitField;
  typed: Form | undefined;
  isRefused: boolean | undefined;
}

function LimitInput({ field, typed, isRefused }: LimitInputProps) {
  const label = <Written text={field.label} />;
  if (field.kind === 'number') {
    const id = `field-${field.name}`;
    return (
      <div class="field">
        <label for={id}>{label}</label>
        <input
          {...{ id, name: field.name, type: 'number', step: 'any', max: field.value }}
          value={typedText(typed, field.name, field.value)}
          aria-describedby={`${id}-hint`}
          aria-invalid={isRefused ? 'true' : undefined}
        />
        <p class="hint" id={`${id}-hint`}>
          At most {valueText(field.value)}
        </p>
      </div>
    );
  }
  if (field.kind === 'list') {
    return (
      <fieldset>
        <legend>{label}</legend>
        <input type="hidden" name={`${field.name}-shown`} value="1" />
        {field.value.map((member, index) => (
          <label class="check">
            <input
              type="checkbox"
              name={field.name}
              value={String(index)}
              checked={!typed?.has(`${field.name}-shown`) || typed.list(field.name).includes(String(index))}
            />
            <Written text={valueText(member)} />
          </label>
        ))}
      </fieldset>
    );
  }
  return (
    <div class="field">
      <span class="label">{label}</span>
      <span>
        <Written text={valueText(field.value)} /> <small>cannot be narrowed</small>
      </span>
    </div>
  );
}
