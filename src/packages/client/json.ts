/** A value that JSON can hold. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** An object of JSON. */
export type JsonObject = { [key: string]: Json };

/** Whether a value of JSON is an object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the value of a key that the object itself has, not its prototype. */
export function ownValue<T>(object: Record<string, T>, key: string): T | undefined {
  if (!Object.hasOwn(object, key)) return undefined;
  return object[key];
}
