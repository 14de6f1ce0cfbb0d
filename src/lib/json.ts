export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

/** Whether a parsed JSON value is an object, and neither an array nor null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value of a key that the object itself has, not its prototype. */
export function ownValue<T>(object: Record<string, T>, key: string): T | undefined {
  if (!Object.hasOwn(object, key)) return undefined;
  return object[key];
}

/** The levels of nesting: 0 for a scalar, 1 for an object or array of scalars. */
export function jsonDepth(value: unknown): number {
  let depth = 0;
  // Works level by level, because recursion could overflow the stack.
  for (
    let level = containers([value]);
    level.length > 0;
    level = containers(level.flatMap(Object.values))
  )
    depth++;
  return depth;
}

function containers(values: unknown[]): object[] {
  return values.filter((value) => typeof value === 'object' && value !== null);
}

/** The size of a value as compact JSON, in UTF-8 bytes. */
export function jsonSize(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

/**
 * Says why a parsed JSON value cannot be stored; null if it can. The database does not preserve NUL
 * and lone surrogates.
 * @param faultOf says why a text cannot be stored; null if it can
 */
export function jsonFault(value: unknown, faultOf = textFault): string | null {
  for (let level = [value]; level.length > 0; level = level.flatMap(namesAndMembers)) {
    for (const member of level) {
      const fault = typeof member === 'string' ? faultOf(member) : null;
      if (fault) return fault;
    }
  }
  return null;
}

function namesAndMembers(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return isJsonObject(value) ? Object.entries(value).flat() : [];
}

/** Says why a text cannot be stored; null if it can. */
export function textFault(text: string): string | null {
  return text.includes('\0') ? 'must not contain NUL' : surrogateFault(text);
}

/** Says why a text cannot be written in UTF-8; null if it can. */
export function surrogateFault(text: string): string | null {
  return text.isWellFormed() ? null : 'must not contain a lone surrogate';
}

/**
 * Whether two JSON values are equal in any order of their names. Recurses no deeper than the
 * shallower of the two.
 */
export function equalJson(a: Json, b: Json): boolean {
  if (Array.isArray(a)) {
    return (
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((member, i) => equalJson(member, b[i] as Json))
    );
  }
  if (!isJsonObject(a)) return a === b;
  if (!isJsonObject(b)) return false;
  const members = Object.entries(a);
  if (members.length !== Object.keys(b).length) return false;
  return members.every(([name, member]) => {
    const other = ownValue(b, name);
    return other !== undefined && equalJson(member, other);
  });
}

/**
 * Writes a value of any depth as JSON: `JSON.stringify` fails on stored values of several thousand
 * levels.
 */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return writeDeepJson(value);
    throw error;
  }
}

function writeDeepJson(root: unknown): string {
  let text = '';
  const pending: Piece[] = [{ value: root }];
  for (let piece = pending.pop(); piece; piece = pending.pop()) {
    if ('text' in piece) text += piece.text;
    else if (typeof piece.value !== 'object' || piece.value === null)
      text += JSON.stringify(piece.value);
    else for (const inner of piecesOf(piece.value).reverse()) pending.push(inner);
  }
  return text;
}

/** A part of a JSON text: finished text, or a value that is still to be written. */
type Piece = { text: string } | { value: unknown };

function piecesOf(container: object): Piece[] {
  if (Array.isArray(container)) {
    const members = container.flatMap((value, i): Piece[] => [
      { text: i > 0 ? ',' : '' },
      { value },
    ]);
    return [{ text: '[' }, ...members, { text: ']' }];
  }
  const members = Object.entries(container)
    .filter(([, value]) => value !== undefined)
    .flatMap(([name, value], i): Piece[] => [
      { text: `${i > 0 ? ',' : ''}${JSON.stringify(name)}:` },
      { value },
    ]);
  return [{ text: '{' }, ...members, { text: '}' }];
}
