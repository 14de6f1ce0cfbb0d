/**
 * Something that is made when it is first asked for, and then kept. The schemas of requests and answers are: to make all
 * of them would make the start half as long again, and a request needs one or two.
 */
export function lazy<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
