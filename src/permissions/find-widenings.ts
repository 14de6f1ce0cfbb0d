import type { FieldError } from '../errors';
import { equalJson, isJsonObject, type Json, type JsonObject, ownValue } from '../lib/json';

/**
 * Lists the places where a granted scope allows more than the requested scope.
 *
 * A scope states upper limits. A number may be lower. An array may lose members, but not all of
 * them; order is free and duplicates count. The scope itself may gain keys, which are additional
 * limits, but not lose any; an object inside it must have the requested keys and no others. Any
 * other value must be equal.
 * @param path where the granted scope stands in the request
 */
export function findWidenings(
  requested: JsonObject,
  granted: JsonObject,
  path = 'body.scope',
): FieldError[] {
  return Object.entries(requested).flatMap(([key, limit]) => {
    const place = `${path}.${key}`;
    const value = ownValue(granted, key);
    if (value !== undefined) return compareValues(limit, value, place);
    return [{ path: place, message: 'is missing: repeat or narrow the requested value' }];
  });
}

function compareValues(requested: Json, granted: Json, path: string): FieldError[] {
  if (typeof requested === 'number') {
    if (typeof granted === 'number' && granted <= requested) return [];
    return [{ path, message: `must be a number of at most the requested ${requested}` }];
  }
  if (Array.isArray(requested)) {
    if (Array.isArray(granted) && isSubset(granted, requested)) return [];
    return [{ path, message: 'must be a list of some of the requested members, at least one' }];
  }
  if (isJsonObject(requested)) {
    if (!isJsonObject(granted)) return [{ path, message: 'must be an object, as requested' }];
    const added = Object.keys(granted).filter((key) => !Object.hasOwn(requested, key));
    const unknown = added.map((key) => ({ path: `${path}.${key}`, message: 'was not requested' }));
    return [...unknown, ...findWidenings(requested, granted, path)];
  }
  if (requested === granted) return [];
  return [{ path, message: 'must equal what was requested' }];
}

/** Whether an array is another array with members removed; duplicates count. */
function isSubset(granted: Json[], requested: Json[]): boolean {
  if (granted.length === 0) return requested.length === 0;
  const left = [...requested];
  return granted.every((member) => {
    const place = left.findIndex((other) => equalJson(other, member));
    if (place < 0) return false;
    left.splice(place, 1);
    return true;
  });
}
