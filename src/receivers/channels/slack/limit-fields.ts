import type { PlainTextOption } from '@slack/types';
import type { Json, JsonObject } from '../../../lib/json';
import { withScriptsMark } from '../../../lib/scripts';
import { valueText } from '../../../permissions/limit-texts';
import { pathLabel } from '../../../permissions/path-label';
import { scopeLeaves } from '../../../permissions/scope-leaves';
import { plain } from './blocks';
import { inLine, sizeOf } from './text';

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
  | { kind: 'list'; value: Json[]; options: PlainTextOption[] }
  | { kind: 'card'; value: Json }
  | { kind: 'fixed'; value: Json }
);

/**
 * The fields for the limits of a scope, in its order and by the same rules as on the decision card:
 * a number may be lowered, a list may lose members, everything else is fixed. Their block ids are
 * numbers, because keys may be any text.
 */
export function limitFields(scope: JsonObject): LimitField[] {
  return scopeLeaves(scope).map(([path, value], index): LimitField => {
    const field = { path, label: labelOf(path), blockId: `limit-${index}` };
    const isLong = sizeOf(field.label) > MAX_LABEL;
    if (typeof value === 'number') {
      const hasField = !isLong && DECIMAL.test(String(value));
      return { ...field, kind: hasField ? 'number' : 'card', value };
    }
    if (!Array.isArray(value) || value.length < 2) return { ...field, kind: 'fixed', value };
    const options = optionsOf(value);
    if (isLong || options === null) return { ...field, kind: 'card', value };
    return { ...field, kind: 'list', value, options };
  });
}

/** A check box for each member of a list; null if Slack cannot show them. */
function optionsOf(members: Json[]): PlainTextOption[] | null {
  if (members.length > MAX_OPTIONS) return null;
  const texts = members.map((member) => withScriptsMark(inLine(valueText(member))));
  if (texts.some((text) => sizeOf(text) > MAX_OPTION)) return null;
  return texts.map((text, index) => ({ text: plain(text), value: String(index) }));
}

/**
 * The label of a limit. Slack has no code type in labels, so none of the service's own begins with
 * these words.
 */
function labelOf(path: string[]): string {
  return withScriptsMark(`Limit \`${pathLabel(path)}\``);
}
