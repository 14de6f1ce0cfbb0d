import type { Json, JsonObject } from '../lib/json';
import { formatInEnglish, type NumberFormat } from '../lib/number-format';
import { pathLabel } from './path-label';
import { scopeLeaves } from './scope-leaves';

/** The limits of a scope as labels and values. */
export function limitValues(scope: JsonObject): [label: string, value: Json][] {
  return scopeLeaves(scope).map(([path, value]) => [pathLabel(path), value]);
}

/** The limits of a scope as labels and texts, such as `max_amount` and `250`. */
export function limitTexts(
  scope: JsonObject,
  formatNumber?: NumberFormat,
): [label: string, value: string][] {
  return limitValues(scope).map(([label, value]) => [label, valueText(value, formatNumber)]);
}

/** A value of a scope for people. */
export function valueText(value: Json | undefined, formatNumber = formatInEnglish): string {
  if (value === undefined) return '–';
  if (typeof value === 'string') return quoteIfAmbiguous(value);
  if (typeof value === 'number') return formatNumber(value);
  if (Array.isArray(value) && value.every((member) => typeof member !== 'object')) {
    if (value.length === 0) return '[]';
    return value.map((member) => valueText(member, formatNumber)).join(', ');
  }
  return JSON.stringify(value);
}

/** Whether a text could be taken for nothing, for a number, for a quoted text or another value. */
export function looksLikeValue(text: string): boolean {
  return /^$|^"|^(true|false|null)$|^[-+−]?[\d.,'’ ]+(e[-+]?\d+)?$/i.test(text);
}

/**
 * A text as it is; in quotes if it could be taken for a number, for another value, or for several
 * texts.
 */
function quoteIfAmbiguous(text: string): string {
  if (!looksLikeValue(text) && !/^\s|\s$|\s\s|, /.test(text)) return text;
  return JSON.stringify(text);
}
