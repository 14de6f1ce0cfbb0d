import type { FieldError } from '../../errors';
import { equalJson, type Json, type JsonObject } from '../../lib/json';
import { proposedLimits } from '../../permissions/limits';
import { pathLabel } from '../../permissions/path-label';
import type { ReviewedPermission } from '../../permissions/permission';
import { scopeLeaves, setAt } from '../../permissions/scope-leaves';
import { readNumber, type SentForm, textOr, typedRoundingFault } from '../frame/form';
import { usePage } from '../frame/page-context';
import { DurationField, durationText, readLowered, showLowered } from '../parts/duration-field';
import { CheckBox, TextField } from '../parts/fields';
import { Code, Value } from '../parts/inline';
import { useRefusal } from '../parts/refusal';

/** A limit of a scope that a person may narrow, or must leave as it is. */
export type LimitField = { path: string[]; label: string; name: string } & (
  | { kind: 'number'; value: number }
  | { kind: 'list'; value: Json[] }
  | { kind: 'fixed'; value: Json }
);

/**
 * The fields for the limits of a scope, in its order. Their names are numbers, because keys may be
 * any text.
 */
export function limitFields(scope: JsonObject): LimitField[] {
  return scopeLeaves(scope).map(([path, value], index) => {
    const field = { path, label: pathLabel(path), name: `limit-${index}` };
    if (typeof value === 'number') return { ...field, kind: 'number', value };
    if (Array.isArray(value) && value.length > 1) return { ...field, kind: 'list', value };
    return { ...field, kind: 'fixed', value };
  });
}

/** Whether an approval, or the votes so far, lowered the limits that the agent asked for. */
export function hasNarrowedScope(row: ReviewedPermission): boolean {
  return !equalJson(row.grantedScope ?? proposedLimits(row).scope, row.scope);
}

/** The limits that a form grants, in the words of the API. What was left as proposed is absent. */
export function readLimits(
  form: SentForm,
  proposal: { scope: JsonObject; tokenTtl: number; maxUses: number },
) {
  const scope = readScope(form, proposal.scope);
  const ttl = readLowered(form, 'token_ttl', proposal.tokenTtl);
  const uses = readNumber(textOr(form, 'max_uses', String(proposal.maxUses)));
  const limits: { scope?: JsonObject; token_ttl?: typeof ttl; max_uses?: typeof uses } = {};
  if (!equalJson(scope, proposal.scope)) limits.scope = scope;
  if (ttl !== proposal.tokenTtl) limits.token_ttl = ttl;
  if (uses !== proposal.maxUses) limits.max_uses = uses;
  return limits;
}

/** The scope with the numbers and the members of lists that a form leaves. */
function readScope(form: SentForm, proposed: JsonObject): JsonObject {
  const scope = structuredClone(proposed);
  for (const field of limitFields(proposed)) {
    const { kind, name, path, value } = field;
    if (kind === 'number' && form.has(name)) setAt(scope, path, readNumber(form.text(name)));
    if (kind === 'list' && form.has(`${name}-shown`)) {
      const kept = form.list(name);
      const left = value.filter((_, index) => kept.includes(String(index)));
      setAt(scope, path, left);
    }
  }
  return scope;
}

/** The faults of the numbers that a form grants, which the API cannot see. */
export function findLimitFaults(form: SentForm, scope: JsonObject): FieldError[] {
  return limitFields(scope).flatMap(({ kind, name, path }) => {
    if (kind !== 'number') return [];
    const message = typedRoundingFault(form.text(name));
    if (message === null) return [];
    return [{ path: ['body.scope', ...path].join('.'), message }];
  });
}

/**
 * The limits: first those of the service, then those that the agent named, made from the scope's
 * own values. A number may be lowered, a list may lose members. Of what a connection sends, only
 * the time to act can be shortened.
 */
export function LimitsFields({
  row,
  typed,
}: {
  row: ReviewedPermission;
  typed: SentForm | undefined;
}) {
  const { scope, tokenTtl, maxUses } = proposedLimits(row);
  const isSentByConnection = row.connectionId !== null;
  const fields = isSentByConnection ? [] : limitFields(scope);
  return (
    <details data-key="edit" id="limits" open={useRefusal() !== undefined}>
      <summary>{isSentByConnection ? 'Shorten the time to act' : 'Narrow the limits'}</summary>
      <div class="limits">
        {isSentByConnection && (
          <p class="hint">Nothing else can be narrowed: the request is sent as it is, once.</p>
        )}
        {row.inputDigest !== null && !isSentByConnection && (
          <p class="hint">
            The arguments stay as they are. If they exceed your limits, the agent has to ask again.
          </p>
        )}
        <DurationField
          label="Time to act"
          name="token_ttl"
          value={showLowered(typed, 'token_ttl', tokenTtl)}
          hint={`At most ${durationText(tokenTtl)}`}
        />
        {!isSentByConnection && (
          <TextField
            label="Times it may act"
            name="max_uses"
            type="number"
            min={1}
            max={maxUses}
            value={typedText(typed, 'max_uses', maxUses)}
            hint={`At most ${maxUses}`}
          />
        )}
        {fields.length > 0 && (
          <fieldset class="named-limits">
            <legend>Limits that the agent named</legend>
            {fields.map((field) => (
              <LimitInput field={field} typed={typed} />
            ))}
          </fieldset>
        )}
      </div>
    </details>
  );
}

function typedText(typed: SentForm | undefined, name: string, value: number): string {
  if (!typed) return String(value);
  return textOr(typed, name, String(value));
}

function LimitInput({ field, typed }: { field: LimitField; typed: SentForm | undefined }) {
  const { formatNumber } = usePage();
  const label = <Code text={field.label} />;
  if (field.kind === 'number') {
    return (
      <TextField
        label={label}
        name={field.name}
        path={`scope.${field.path.join('.')}`}
        type="number"
        step="any"
        max={field.value}
        value={typedText(typed, field.name, field.value)}
        hint={`At most ${formatNumber(field.value)}`}
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
            label={<Value of={member} />}
            name={field.name}
            value={String(index)}
            checked={
              !typed?.has(`${field.name}-shown`) || typed.list(field.name).includes(String(index))
            }
          />
        ))}
      </fieldset>
    );
  }
  return (
    <div class="field">
      <span class="label">{label}</span>
      <span>
        <Value of={field.value} /> <small>cannot be narrowed</small>
      </span>
    </div>
  );
}
