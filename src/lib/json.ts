export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

/** Whether a parsed JSON value is an object, neither array nor null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Levels of nesting: 0 for a scalar, 1 for an object or array of scalars. */
export function jsonDepth(value: unknown): number {
  let depth = 0;
  // Level by level: a body of the allowed size can be nested deeper than the stack reaches.
  for (let level = containers([value]); level.length > 0; level = containers(level.flatMap(Object.values))) depth++;
  return depth;
}

function containers(values: unknown[]): object[] {
  return values.filter((value) => typeof value === 'object' && value !== null);
}

/** Size of a value as compact JSON in UTF-8 bytes. */
export function jsonSize(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

/**
 * What cannot be kept of a parsed JSON value, in words; null when all can. NUL and lone surrogates do not survive
 * storage, and a number beyond the range of a double (`1e999`) was lost in parsing.
 */
export function jsonFault(value: unknown): string | null {
  if (typeof value === 'string') return textFault(value);
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'a number is out of range';
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, member] of Object.entries(value)) {
    const fault = textFault(key) ?? jsonFault(member);
    if (fault) return fault;
  }
  return null;
}

/** What is wrong with a text, in words; null when nothing is. */
export function textFault(text: string): string | null {
  if (text.includes('\0')) return 'must not contain NUL';
  return text.isWellFormed() ? null : 'must not contain a lone surrogate';
}

/** A value as JSON text that does not depend on the order of keys. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] as Json)}`);
  return `{${members.join()}}`;
}
