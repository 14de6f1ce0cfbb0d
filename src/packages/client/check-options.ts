/** The names of all options of a type. */
export type OptionList<T> = Record<keyof T, true>;

/**
 * Checks that an object has no other options than the known ones.
 * @param what names the object in the error, for example `guard()`
 * @throws TypeError that names the unknown option, and the known one that is spelled most like it
 */
export function checkOptions(options: object, known: Record<string, true>, what: string): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const names = Object.keys(known);
  const distances = names.map((name) => distanceOf(unknown.toLowerCase(), name.toLowerCase()));
  const nearest = names[distances.indexOf(Math.min(...distances))];
  throw new TypeError(
    `${what} has no option ${JSON.stringify(unknown)}. Did you mean ${nearest}? ` +
      `There are: ${names.join(', ')}.`,
  );
}

/** How many letters have to be put in, taken away or replaced to turn one word into the other. */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j++) {
      const replaced = (row[j] as number) + (one[i] === other[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] as number) + 1, (next[j] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
