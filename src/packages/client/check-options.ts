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
  let row = ['', ...other].map((_, index) => index);
  for (const letter of one) {
    let [diagonal = 0, ...above] = row;
    let left = diagonal + 1;
    row = [left];
    for (const [index, up] of above.entries()) {
      const replaced = diagonal + Number(letter !== other[index]);
      left = Math.min(replaced, up + 1, left + 1);
      row.push(left);
      diagonal = up;
    }
  }
  return row.at(-1) ?? 0;
}
