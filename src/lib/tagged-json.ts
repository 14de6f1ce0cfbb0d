import { isJsonObject, type Json, type JsonObject } from './json';

/**
 * Converts a value that may contain bigints, byte strings and dates to JSON: each of them becomes
 * an object of one member.
 */
export function toTaggedJson(value: unknown): Json {
  if (typeof value === 'bigint') return { $bigint: String(value) };
  if (value instanceof Uint8Array) return { $bytes: value.toBase64() };
  if (value instanceof Date) return { $date: value.getTime() };
  if (Array.isArray(value)) return value.map(toTaggedJson);
  if (typeof value !== 'object' || value === null) return value as Json;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, toTaggedJson(member)]));
}

/** The inverse of {@link toTaggedJson}. */
export function fromTaggedJson(json: Json): unknown {
  if (Array.isArray(json)) return json.map(fromTaggedJson);
  if (!isJsonObject(json)) return json;
  const { $bigint, $bytes, $date }: JsonObject = json;
  if (typeof $bigint === 'string') return BigInt($bigint);
  if (typeof $bytes === 'string') return Uint8Array.fromBase64($bytes);
  if (typeof $date === 'number') return new Date($date);
  return Object.fromEntries(
    Object.entries(json).map(([name, member]) => [name, fromTaggedJson(member)]),
  );
}
