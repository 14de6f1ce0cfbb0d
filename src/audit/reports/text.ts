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

const NAME = 80;

/** A name within a sentence, of which it cannot break out; lists of names have it as it is. */
export function quote(name: string): string {
  const plain = name
    .replace(/\s+/g, ' ')
    .replace(/[“”]/g, '"')
    .replace(/[^\P{C}\u200c\u200d]/gu, writeOut);
  const characters = [...plain];
  return `“${characters.slice(0, NAME).join('')}${characters.length > NAME ? '…' : ''}”`;
}

/** What a character that cannot be shown is written as: [U+202E]. */
export function writeOut(character: string): string {
  return `[U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`;
}

const NAMED = 5;

/** The first few of some names, and how many there are beside them. */
export function someOf(names: string[]): string {
  const few = names.slice(0, NAMED).join(', ');
  return names.length > NAMED ? `${few} and ${figure(names.length - NAMED)} more` : few;
}
