import { canonicalJson, type Json, type JsonObject } from '../../packages/verify/core/json.ts';

/** A place where two JSON values differ, with both values; `missing` stands for none. */
interface Difference {
  path: string;
  one: string;
  other: string;
}

/** Returns the places where two JSON values differ. */
export function findDifferences(
  one: Json | undefined,
  other: Json | undefined,
  path = '',
): Difference[] {
  if (isContainer(one) && isContainer(other)) {
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
    return names.flatMap((name) =>
      findDifferences(one[name], other[name], path === '' ? name : `${path}.${name}`),
    );
  }
  if (textOf(one) === textOf(other)) return [];
  return [{ path, one: textOf(one), other: textOf(other) }];
}

/** Arrays count as objects, whose names are their indices. */
function isContainer(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null;
}

function textOf(value: Json | undefined): string {
  return value === undefined ? 'missing' : canonicalJson(value);
}
