import { isJsonObject, type Json, type JsonObject } from '../../lib/json';

/** The limits of a scope as names and texts, such as `max_amount` and `250`. Nested ones have a path as their name. */
export function limitTexts(scope: JsonObject, path = ''): [name: string, value: string][] {
  return Object.entries(scope).flatMap(([key, value]): [string, string][] => {
    const name = path + key;
    if (isJsonObject(value) && Object.keys(value).length > 0) return limitTexts(value, `${name}.`);
    return [[name, valueText(value as Json)]];
  });
}

/** A value of a scope for people. */
export function valueText(value: Json | undefined): string {
  if (value === undefined) return '–';
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return value.toLocaleString('en', { maximumFractionDigits: 20 });
  if (Array.isArray(value) && value.every((member) => typeof member !== 'object')) return value.map(String).join(', ');
  return JSON.stringify(value);
}
