import { isJsonObject, type Json, type JsonObject } from '../lib/json';

/**
 * Where a granted scope goes beyond the requested one. A scope states upper limits: a number may only fall, an array
 * only lose members (not all of them; order is free and duplicates count), an object is compared member by member, any
 * other value stays equal. At the top level a key may be added, which is one more limit; none may be removed.
 * @returns the path of the first value that is wider (`body.scope.amount`), or null
 */
export function findWidening(requested: JsonObject, granted: JsonObject, path = 'body.scope'): string | null {
  return compareMembers(requested, granted, path, true);
}

function compareMembers(requested: JsonObject, granted: JsonObject, path: string, mayAdd: boolean): string | null {
  for (const key of Object.keys(granted)) {
    if (!mayAdd && !Object.hasOwn(requested, key)) return `${path}.${key}`;
  }
  for (const [key, limit] of Object.entries(requested)) {
    const wider = Object.hasOwn(granted, key)
      ? compareValues(limit, granted[key] as Json, `${path}.${key}`)
      : `${path}.${key}`;
    if (wider) return wider;
  }
  return null;
}

function compareValues(requested: Json, granted: Json, path: string): string | null {
  if (typeof requested === 'number') return typeof granted === 'number' && granted <= requested ? null : path;
  if (Array.isArray(requested)) return Array.isArray(granted) && isSubset(granted, requested) ? null : path;
  if (isJsonObject(requested)) return isJsonObject(granted) ? compareMembers(requested, granted, path, false) : path;
  return requested === granted ? null : path;
}

/** Whether an array is another one with members taken out: a member counts as often as it stands there. */
function isSubset(granted: Json[], requested: Json[]): boolean {
  if (granted.length === 0) return requested.length === 0;
  const left = requested.map(canonical);
  return granted.every((member) => {
    const place = left.indexOf(canonical(member));
    if (place < 0) return false;
    left.splice(place, 1);
    return true;
  });
}

/** A value as JSON text that does not depend on the order of keys. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] as Json)}`);
  return `{${members.join()}}`;
}
