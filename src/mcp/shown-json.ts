import type { Json } from '../lib/json';
import { lazy } from '../lib/lazy';
import { type Lines, nameCharacter, unseenPattern } from '../lib/unseen';

/**
 * The characters that are shown by their code points: unseen ones, selectors of emoji, and what
 * begins like something shown so.
 */
const toShow = (lines: Lines) =>
  lazy(() => new RegExp(`${unseenPattern(lines).source}|[\\ufe0e\\ufe0f]|\\[(?=U\\+)`, 'gu'));

const inLines = toShow({ hasLines: true });
const inLine = toShow({});

/**
 * Shows each unseen character of all texts and names, except line feeds and tabs, as its code
 * point, such as `[U+202E]`. Different values stay different.
 */
export function showJson(value: Json): Json {
  if (typeof value === 'string') return value.replace(inLines(), nameInBrackets);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(showJson);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    members.map(([name, member]) => [name.replace(inLines(), nameInBrackets), showJson(member)]),
  );
}

/** Shows each unseen character of a text, so that it is one line. */
export function showLine(text: string): string {
  return text.replace(inLine(), nameInBrackets);
}

/**
 * Writes JSON as one line without the characters of tags and of Markdown's fences, by which a text
 * could seem to end.
 */
export function writeLine(value: Json): string {
  return JSON.stringify(value).replace(
    /[<>`]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  );
}

function nameInBrackets(character: string): string {
  return `[${nameCharacter(character)}]`;
}
