import { isJsonObject, type Json, type JsonObject } from '../lib/json';

/** The limits of a scope as names and texts, such as `max_amount` and `250`. Nested ones have a path as their name. */
export function limitTexts(scope: JsonObject, path = ''): [name: string, value: string][] {
  return Object.entries(scope).flatMap(([key, value]): [string, string][] => {
    const name = path + key;
    if (isJsonObject(value) && Object.keys(value).length > 0) return limitTexts(value, `${name}.`);
    return [[name, valueText(value as Json)]];
  });
}

/** The limits of a scope in one line. */
export function limitsText(scope: JsonObject): string {
  return limitTexts(scope)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

/** A value of a scope for people. */
export function valueText(value: Json | undefined): string {
  if (value === undefined) return '–';
  if (typeof value === 'string') return quoteIfAmbiguous(value);
  if (typeof value === 'number') return groupThousands(value);
  if (Array.isArray(value) && value.every((member) => typeof member !== 'object')) {
    return value.length === 0 ? '[]' : value.map((member) => valueText(member)).join(', ');
  }
  return JSON.stringify(value);
}

/** A number as its JSON has it, never rounded, with the thousands grouped: `1,840.5`. */
function groupThousands(value: number): string {
  return String(value).replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));
}

/** A text as it is; in quotes if it could be taken for a number, for another value, or for several texts. */
function quoteIfAmbiguous(text: string): string {
  return /^$|^\s|\s$|\s\s|, |^(true|false|null)$|^[-+]?[\d.,]+$/.test(text) ? JSON.stringify(text) : text;
}
