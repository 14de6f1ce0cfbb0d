import { isJsonObject, type Json, ownValue } from '../lib/json';

/** A JSON Pointer (RFC 6901). */
export const JSON_POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/;

/** How a field of a preview compares with the argument that it restates. */
export type Restatement =
  | { kind: 'same'; argument: Json }
  | { kind: 'differs'; argument: Json }
  /** The arguments have nothing at this place. */
  | { kind: 'absent' };

/**
 * Compares the value of a preview's field with the argument that it restates. Texts are equal only
 * if every character is: a string is compared by its own text, any other value by its JSON.
 * @param pointer a JSON Pointer into the arguments
 */
export function compareRestated(value: string, pointer: string, input: Json): Restatement {
  const argument = valueAt(input, pointer);
  if (argument === undefined) return { kind: 'absent' };
  const text = typeof argument === 'string' ? argument : JSON.stringify(argument);
  return { kind: text === value ? 'same' : 'differs', argument };
}

/** The value at a JSON Pointer (RFC 6901 section 4); undefined if there is none. */
function valueAt(root: Json, pointer: string): Json | undefined {
  const keys = pointer.split('/').slice(1).map(unescapeKey);
  return keys.reduce<Json | undefined>((value, key) => {
    if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(key) ? value[Number(key)] : undefined;
    return isJsonObject(value) ? ownValue(value, key) : undefined;
  }, root);
}

/** The JSON Pointer to a place, by its keys. */
export function pointerTo(keys: readonly string[]): string {
  return keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function unescapeKey(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}
