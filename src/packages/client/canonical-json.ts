import canonicalize from 'canonicalize';
import type { FieldError } from './errors.ts';

/** Says what is wrong with a value outside JSON, by the error that says so. */
const faults = new WeakMap<object, FieldError>();

/**
 * Returns the place and the fault of a value outside JSON, for an error of {@link canonicalJson}.
 */
export function outsideJsonFault(error: unknown): FieldError | undefined {
  if (!(error instanceof TypeError)) return undefined;
  return faults.get(error);
}

/**
 * Returns the canonical form of a value (RFC 8785).
 * @param place what the error calls the value
 * @throws TypeError that names the place of the first value outside JSON: undefined, a number that
 *   is not finite, a string with a lone surrogate, an object of a class, a cycle
 */
export function canonicalJson(value: unknown, place = 'input'): string {
  checkJson(value, place, new Set());
  return canonicalize(value) as string;
}

/**
 * Returns the digest of a canonical form as the service computes it: `sha-256:` and 43 base64url
 * characters.
 */
export async function digestOf(canonical: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonical));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(hash)));
  return `sha-256:${base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

/** Tells whether two JSON values are equal; the order of an object's keys does not count. */
export function isEqualJson(one: unknown, other: unknown): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

function checkJson(value: unknown, place: string, parents: Set<object>): void {
  switch (typeof value) {
    case 'boolean':
      return;
    case 'string':
      if (/\p{Surrogate}/u.test(value)) throw outside(place, 'a string with a lone surrogate');
      return;
    case 'number':
      if (!Number.isFinite(value)) throw outside(place, String(value));
      return;
    case 'object':
      if (value !== null) checkMembers(value, place, parents);
      return;
    default:
      throw outside(place, typeof value);
  }
}

function checkMembers(value: object, place: string, parents: Set<object>): void {
  if (parents.has(value)) throw outside(place, 'a cycle');
  parents.add(value);
  if (Array.isArray(value)) {
    // By index: forEach would skip the holes of a sparse array.
    for (let index = 0; index < value.length; index++)
      checkJson(value[index], `${place}[${index}]`, parents);
  } else {
    const prototype = Object.getPrototypeOf(value);
    // An object from another realm, such as a test runner's, has another Object.prototype.
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
      throw outside(place, `an object of the class ${value.constructor?.name || 'without a name'}`);
    }
    if (Object.getOwnPropertySymbols(value).length > 0)
      throw outside(place, 'an object with a symbol as key');
    for (const [key, member] of Object.entries(value)) {
      checkJson(key, `${place}: a key`, parents);
      checkJson(member, `${place}.${key}`, parents);
    }
  }
  parents.delete(value);
}

function outside(path: string, what: string): TypeError {
  const message = `is ${what}, which JSON cannot hold`;
  const error = new TypeError(`${path} ${message}.`);
  faults.set(error, { path, message });
  return error;
}
