/**
 * Makes a value on the first call, and returns the same value on later calls. All request and response schemas are
 * lazy: making them at startup would take half as long again, and a request needs one or two.
 */
export function lazy<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
