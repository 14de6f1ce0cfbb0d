import { isJsonObject, type Json, type JsonObject } from '../lib/json';

/**
 * The values of a scope that are not objects with fields of their own, each with its path, in the
 * scope's order.
 */
export function scopeLeaves(
  scope: JsonObject,
  path: string[] = [],
): [path: string[], value: Json][] {
  return Object.entries(scope).flatMap(([key, value]): [string[], Json][] => {
    const inner = [...path, key];
    if (!isJsonObject(value) || Object.keys(value).length === 0) return [[inner, value]];
    return scopeLeaves(value, inner);
  });
}

/** Replaces the value at a path that the scope has. */
export function setAt(scope: JsonObject, path: string[], value: Json): void {
  const key = path.at(-1) ?? '';
  let parent = scope;
  for (const step of path.slice(0, -1)) {
    const inner = parent[step];
    if (isJsonObject(inner)) parent = inner;
  }
  // The key is the object's own, even if it is __proto__: the assignment does not reach the
  // prototype.
  parent[key] = value;
}
