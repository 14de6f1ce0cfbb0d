/** A number for people: 1,234,567. */
export function figure(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** So many things: `1 request`, `2 requests`. */
export function things(count: number, one: string, many = `${one}s`): string {
  return `${figure(count)} ${count === 1 ? one : many}`;
}

/** `was` or `were`, for so many things. */
export function were(count: number): string {
  return count === 1 ? 'was' : 'were';
}

/** A part of a whole in percent, rounded down so that only all of it is 100 %. */
export function share(part: number, whole: number): string {
  return `${whole === 0 ? 0 : Math.floor((100 * part) / whole)} %`;
}

const NAMED = 5;

/** The first few of some names, and how many there are beside them. */
export function someOf(names: string[]): string {
  const few = names.slice(0, NAMED).join(', ');
  return names.length > NAMED ? `${few} and ${figure(names.length - NAMED)} more` : few;
}
