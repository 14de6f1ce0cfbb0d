import { duration } from '../../lib/duration';
import { SECOND } from '../../lib/time';
import type { ReviewedPermission } from '../../permissions/permission';
import type { Form } from '../frame/form';
import { CheckBox, TextField, useRefusal } from '../parts/form';
import { Written } from '../parts/inline';
import { valueText } from '../parts/limits';
import { type LimitField, limitFields } from './limits-form';

/** The limits, made from the scope's own values: a number may be lowered, a list may lose members. */
export function LimitsFields({ row, typed }: { row: ReviewedPermission; typed: Form | undefined }) {
  const { scope, tokenTtl, maxUses } = row.review?.proposal ?? row;
  return (
    <details data-key="edit" id="limits" open={useRefusal() !== undefined}>
      <summary>Narrow the limits</summary>
      <div class="limits">
        {row.inputDigest !== null && (
          <p class="hint">The arguments stay as they are: if they exceed what you leave, the agent has to ask again.</p>
        )}
        {limitFields(scope).map((field) => (
          <LimitInput field={field} typed={typed} />
        ))}
        <TextField
          label="Time to act, in seconds"
          name="token_ttl"
          type="number"
          min={30}
          max={tokenTtl}
          value={typedText(typed, 'token_ttl', tokenTtl)}
          hint={`At most ${tokenTtl} (${duration(tokenTtl * SECOND)})`}
        />
        <TextField
          label="Times it may act"
          name="max_uses"
          type="number"
          min={1}
          max={maxUses}
          value={typedText(typed, 'max_uses', maxUses)}
          hint={`At most ${maxUses}`}
        />
      </div>
    </details>
  );
}

function typedText(typed: Form | undefined, name: string, value: number): string {
  return typed?.has(name) ? typed.text(name) : String(value);
}

function LimitInput({ field, typed }: { field: LimitField; typed: Form | undefined }) {
  const label = <Written text={field.label} />;
  if (field.kind === 'number') {
    return (
      <TextField
        label={label}
        name={field.name}
        type="number"
        step="any"
        max={field.value}
        value={typedText(typed, field.name, field.value)}
        hint={`At most ${valueText(field.value)}`}
      />
    );
  }
  if (field.kind === 'list') {
    return (
      <fieldset>
        <legend>{label}</legend>
        <input type="hidden" name={`${field.name}-shown`} value="1" />
        {field.value.map((member, index) => (
          <CheckBox
            label={<Written text={valueText(member)} />}
            name={field.name}
            value={String(index)}
            checked={!typed?.has(`${field.name}-shown`) || typed.list(field.name).includes(String(index))}
          />
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
