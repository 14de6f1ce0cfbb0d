export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

/** The canonical form of a JSON value (RFC 8785), as the log hashes it and passkeys sign it. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] ?? null)}`);
  return `{${members.join()}}`;
}

/** Where two JSON values differ, as paths with both values; undefined stands for a missing one. */
export function differences(
  one: Json | undefined,
  other: Json | undefined,
  path = '',
): Difference[] {
  if (isObject(one) && isObject(other)) {
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
    return names.flatMap((name) =>
      differences(one[name], other[name], path === '' ? name : `${path}.${name}`),
    );
  }
  if (textOf(one) === textOf(other)) return [];
  return [{ path, one: textOf(one), other: textOf(other) }];
}

interface Difference {
  path: string;
  one: string;
  other: string;
}

/** Arrays count as objects, whose names are their indices. */
function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null;
}

function textOf(value: Json | undefined): string {
  return value === undefined ? 'missing' : canonicalJson(value);
}
