import { invalidRequest } from '../../errors';
import type { Json, JsonObject } from '../../lib/json';

/** The fields of a form or a query, in their order. A name may stand twice. */
export type FormFields = readonly (readonly [name: string, value: string])[];

/**
 * Parses a form or a query (`application/x-www-form-urlencoded`).
 * @param place what it is, for the problem
 * @throws Problem `invalid_request` for an encoding of bytes that are not UTF-8, which the parser
 *   would replace
 */
export function parseForm(text: string, place: 'body' | 'query'): FormFields {
  try {
    decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw invalidRequest([{ path: place, message: 'is not percent-encoded UTF-8' }]);
  }
  return [...new URLSearchParams(text)];
}

/** Writes a form or a query from its fields. */
export function writeForm(fields: FormFields): string {
  return new URLSearchParams(fields.map(([name, value]) => [name, value])).toString();
}

/**
 * The fields of a form as JSON: an object, or a list of names and values if a name stands twice,
 * because then their order may count.
 */
export function formAsJson(fields: FormFields): Json {
  const names = new Set(fields.map(([name]) => name));
  if (names.size < fields.length) return fields.map(([name, value]) => [name, value]);
  const object: JsonObject = Object.create(null);
  for (const [name, value] of fields) object[name] = value;
  return { ...object };
}

/**
 * The values of a field by its dotted name: `a.b` is the field `a[b]` of a form. A field below it
 * counts too, because some services read `a[]` or `a[b]` as `a`.
 */
export function valuesIn(fields: FormFields, dottedName: string): Json[] {
  const [first = '', ...rest] = dottedName.split('.');
  const name = first + rest.map((part) => `[${part}]`).join('');
  return fields
    .filter(([each]) => each === name || each.startsWith(`${name}[`))
    .map(([, value]) => readValue(value));
}

/** The value of a text in a form: a number if the text is its shortest decimal form. */
function readValue(text: string): Json {
  const isDecimal = /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text);
  if (isDecimal && String(Number(text)) === text) return Number(text);
  return text;
}
