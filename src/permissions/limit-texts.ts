import type { Json, JsonObject } from '../lib/json';
import { pathLabel } from './path-label';
import { scopeLeaves } from './scope-leaves';

/** The limits of a scope as labels and texts, such as `max_amount` and `250`. */
export function limitTexts(scope: JsonObject): [label: string, value: string][] {
  return scopeLeaves(scope).map(([path, value]) => [pathLabel(path), valueText(value)]);
}

/** A value of a scope for people. */
export function valueText(value: Json | undefined): string {
  if (value === undefined) return '–';
  if (typeof value === 'string') return quoteIfAmbiguous(value);
  if (typeof value === 'number') return groupThousands(value);
  if (Array.isArray(value) && value.every((member) => typeof member !== 'object')) {
    if (value.length === 0) return '[]';
    return value.map((member) => valueText(member)).join(', ');
  }
  return JSON.stringify(value);
}

/** A number as its JSON has it, never rounded, with the thousands grouped: `1,840.5`. */
function groupThousands(value: number): string {
  return String(value).replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));
}

/**
 * A text as it is; in quotes if it could be taken for a number, for another value, or for several
 * texts.
 */
function quoteIfAmbiguous(text: string): string {
  const isAmbiguous = /^$|^\s|\s$|\s\s|, |^(true|false|null)$|^[-+]?[\d.,]+$/.test(text);
  if (!isAmbiguous) return text;
  return JSON.stringify(text);
}
