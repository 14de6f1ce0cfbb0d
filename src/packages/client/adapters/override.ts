/**
 * Returns a copy of an object with its hidden properties and its class, in which some properties
 * are replaced.
 */
export function override<T extends object>(object: T, properties: Record<string, unknown>): T {
  const copy = Object.create(
    Object.getPrototypeOf(object),
    Object.getOwnPropertyDescriptors(object),
  );
  for (const [name, value] of Object.entries(properties)) {
    Object.defineProperty(copy, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return copy;
}
