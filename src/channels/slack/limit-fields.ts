import type { Json, JsonObject } from '../../lib/json';
import { withScriptsMark } from '../../lib/scripts';
import { valueText } from '../../permissions/limit-texts';
import { pathLabel } from '../../permissions/path-label';
import { scopeLeaves } from '../../permissions/scope-leaves';
import { type Option, plain } from './blocks';
import { inLine, sizeOf } from './text';

/** Maximum number of fields in one modal; Slack allows 100 blocks in a view. */
const MAX_FIELDS = 60;

/** Slack's maximum number of check boxes in a group, and the maximum size of the text of one. */
const MAX_OPTIONS = 10;
const MAX_OPTION = 75;

const MAX_LABEL = 300;

/** A number that Slack's field for numbers takes: without an exponent. */
const DECIMAL = /^-?\d+(\.\d+)?$/;

/**
 * A limit of a scope that a person may narrow in Slack (`number`, `list`), may narrow only on the
 * decision card (`card`), or must leave as it is (`fixed`).
 */
export type LimitField = { path: string[]; label: string; blockId: string } & (
  | { kind: 'number'; value: number }
  | { kind: 'list'; value: Json[]; options: Option[] }
  | { kind: 'card'; value: Json }
  | { kind: 'fixed'; value: Json }
);

/**
 * The fields for the limits of a scope, in its order and by the same rules as on the decision card:
 * a number may be lowered, a list may lose members, everything else is fixed. Their block ids are
 * numbers, because keys may be any text.
 */
export function limitFields(scope: JsonObject): LimitField[] {
  let left = MAX_FIELDS;
  return scopeLeaves(scope).map(([path, value], index): LimitField => {
    const field = { path, label: labelOf(path), blockId: `limit-${index}` };
    if (!(typeof value === 'number' || (Array.isArray(value) && value.length > 1)))
      return { ...field, kind: 'fixed', value };
    if (left === 0 || sizeOf(field.label) > MAX_LABEL) return { ...field, kind: 'card', value };
    if (typeof value === 'number') {
      if (!DECIMAL.test(String(value))) return { ...field, kind: 'card', value };
      left -= 1;
      return { ...field, kind: 'number', value };
    }
    const options = value.map((member, place) => ({
      text: plain(withScriptsMark(inLine(valueText(member)))),
      value: String(place),
    }));
    if (
      options.length > MAX_OPTIONS ||
      options.some(({ text }) => sizeOf(text.text) > MAX_OPTION)
    ) {
      return { ...field, kind: 'card', value };
    }
    left -= 1;
    return { ...field, kind: 'list', value, options };
  });
}

/**
 * What a limit is called. Slack has no code type in labels, so none of the service's own begins
 * with these words.
 */
function labelOf(path: string[]): string {
  return withScriptsMark(`Limit \`${pathLabel(path)}\``);
}
